// An NVIDIA GPU as a target: CUDA text, the libraries' contractions, the table of hand kernels.
#pragma once

#include <memory>

#include "backends/cuda/device.h"
#include "backends/cuda/library/library.h"
#include "backends/target.h"
#include "loop/contraction.h"

namespace plait::cuda {

/// How contractions reach a library; the plugin gives it, tests without a driver do not.
class Libraries {
 public:
  virtual ~Libraries() = default;
  virtual std::string identity() const = 0;
  /// Calls of these will be made: their libraries are opened beside what goes on.
  virtual void expect(bool /*cublaslt*/, bool /*cudnn*/) const {}
  /// Seconds of opening libraries and making calls, so far.
  virtual double start_seconds() const { return 0; }
  /// Null with `why`. `variant` is the id of an earlier call, or empty. `slow`: calls that take the
  /// library up to a second to make are welcome.
  virtual std::unique_ptr<LibraryCall> make(const loop::BoundContraction& contraction, DType result,
                                            const LibraryEpilogue& epilogue,
                                            const std::string& variant, bool slow,
                                            std::string& why) const = 0;
  /// The same libraries, with products of f32 in tf32 or not.
  virtual std::shared_ptr<const Libraries> with(bool tf32) const = 0;
};

struct CudaOptions {
  bool tf32 = false;  // f32 contractions may round their operands to tf32
  bool fast = false;  // libraries may take what gives other bits from run to run
};

std::unique_ptr<Target> make_cuda_target(std::shared_ptr<Device> device,
                                         std::shared_ptr<const Libraries> libraries,
                                         const CudaOptions& options);

}  // namespace plait::cuda
