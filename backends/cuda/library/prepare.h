// What takes long about library calls, done before they are made: on threads of its own, while
// states are written.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backends/cuda/library/library.h"

namespace plait::cuda {

/// Both make the calls that these wishes name of their library, on several threads (each calls
/// `enter` first, to make the context current), and record each once without running it: with
/// that the library has found its kernels and loaded them. What cannot be made is left to
/// make_library_call, which tells why.
void prepare_products(const std::vector<LibraryWish>& wishes, const LibraryOptions& options,
                      const std::function<void()>& enter);
/// cuDNN's plans are there for as long as the result lives.
std::shared_ptr<const void> prepare_convolutions(const std::vector<LibraryWish>& wishes,
                                                 const LibraryOptions& options,
                                                 const std::function<void()>& enter);

}  // namespace plait::cuda
