// The two makers behind make_library_call. Private to this folder.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/library/convolution.h"
#include "backends/cuda/library/library.h"
#include "backends/cuda/library/matrix.h"

namespace plait::cuda {

/// What both are made from.
struct LibraryProblem {
  DType dtype, result;
  LibraryOptions options;  // of the variant only what names the algorithm
  LibraryEpilogue epilogue;
};

/// A convolution to be made by cuDNN, of an engine that the problem's variant names.
struct DnnWish {
  Convolution convolution;
  LibraryProblem problem;
};

std::unique_ptr<LibraryCall> make_lt_call(const MatrixProduct& product,
                                          const LibraryProblem& problem, std::string& why);
std::unique_ptr<LibraryCall> make_dnn_call(const Convolution& convolution,
                                           const LibraryProblem& problem, std::string& why);

/// What stands behind the last point of an id.
std::string algorithm_of(const std::string& variant);

/// Numbers in hexadecimal joined by '_', without zeros at the end, and back; an empty list when the
/// text is not that.
std::string words_text(std::vector<std::uint64_t> words);
std::vector<std::uint64_t> words_from(const std::string& text);

/// The largest power of two up to `alignment` that divides all of these.
std::int64_t common_alignment(std::int64_t alignment, std::initializer_list<std::int64_t> bytes);

/// Seconds of one run of `call` on the stream, from several in a row; from one where that alone
/// takes several times `best`. Negative, with what went wrong, when it fails.
double seconds_of(void* stream, const LibraryCall& call, const LibraryOperands& operands,
                  double best, std::string& why);

}  // namespace plait::cuda
