// Contractions by NVIDIA's libraries: cuBLASLt for matrix products, cuDNN for convolutions and
// their gradients. Both are loaded when they are there; a contraction that neither takes is
// generated. A call may add a bias and a residual and clip at 0; whatever else follows a
// contraction is a kernel of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "loop/contraction.h"

namespace plait::cuda {

struct LibraryOptions {
  bool tf32 = false;                        // f32 operands may be rounded to tf32
  bool deterministic = true;                // the same bits in every run
  bool compile_engines = true;              // cuDNN may compile kernels: up to a second for each
  std::int64_t workspace_limit = 32 << 20;  // bytes
  std::int64_t alignment = 64;              // bytes: of every address given to run
  /// The id of an earlier call makes the same again. "lt" or "cudnn": only that library, its own
  /// first choice. Empty: the first library that takes it.
  std::string variant{};
};

/// What a call does to its product before it is rounded to the result's dtype, in this order:
/// + residual (where the result is, of its dtype), + bias (one per n, of the result's dtype), relu.
/// Nothing is rounded in between.
struct LibraryEpilogue {
  bool bias = false, residual = false, relu = false;
  bool any() const { return bias || residual || relu; }
};

/// Device addresses of the contraction's buffers; the offsets a0.. are added by the call, c0 to the
/// residual too.
struct LibraryOperands {
  const char* a = nullptr;
  const char* b = nullptr;
  char* c = nullptr;
  char* workspace = nullptr;
  const char* bias = nullptr;
  const char* residual = nullptr;
};

/// A contraction as a library call with sizes fixed.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  /// "lt.tn.bf16.4200000042_1c_1", "cudnn.forward.bf16.2f_18_b": library, form, dtype, algorithm.
  /// One id on one device with one version of the library is one sequence of operations.
  virtual std::string id() const = 0;
  virtual std::int64_t workspace_bytes() const = 0;
  /// On a CUstream; allocates nothing when the operands are those of the last run. Null, or what
  /// went wrong.
  virtual const char* run(void* stream, const LibraryOperands& operands) const = 0;

  /// What tune needs for its workspace.
  virtual std::int64_t tune_bytes() const = 0;
  /// Times up to `most` algorithms and keeps the fastest: id and workspace change. The result is
  /// written many times; waits for the stream. Seconds of the fastest; RunError when none runs.
  virtual double tune(void* stream, const LibraryOperands& operands, int most = 8) = 0;
};

/// The first part of a call's id: "lt" or "cudnn".
inline std::string_view library_of(std::string_view id) { return id.substr(0, id.find('.')); }

/// What is there, for messages; opens the libraries.
struct LibraryVersions {
  std::string cublaslt, cudnn;          // "13.1.0"; empty: not there
  std::string cublaslt_why, cudnn_why;  // why not
};
LibraryVersions library_versions();
/// The same for identities, without opening what was opened before; no reasons.
LibraryVersions kept_library_versions();

/// Opens libraries, which takes long; then their handles can be made, with a current context.
void open_libraries(bool cublaslt, bool cudnn);
void start_libraries(bool cublaslt, bool cudnn);

/// `result`: dtype of c, the contraction's own or f32 of halves. Null with `why` when no library
/// takes it. A context must be current; calls are made and run by one thread at a time.
std::unique_ptr<LibraryCall> make_library_call(const loop::BoundContraction& contraction,
                                               DType result, const LibraryOptions& options,
                                               const LibraryEpilogue& epilogue, std::string& why);

/// A call that will be made with an id.
struct LibraryWish {
  loop::BoundContraction contraction;
  DType result;
  LibraryEpilogue epilogue;
  std::string id;
};

}  // namespace plait::cuda
