// An NVIDIA GPU as a target: CUDA text, the libraries' contractions, the table of hand kernels.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/library/library.h"
#include "backends/target.h"
#include "loop/contraction.h"

namespace plait::cuda {

/// What a program wants of libraries.
struct LibraryUse {
  bool cublaslt = false, cudnn = false;
  std::vector<LibraryWish> calls;  // those whose sizes are known
};

/// How contractions reach a library; the plugin gives it, tests without a driver do not.
class Libraries {
 public:
  virtual ~Libraries() = default;
  virtual std::string identity() const = 0;
  /// What will be made: libraries are opened, and the calls prepared, beside what goes on.
  virtual void expect(LibraryUse) const {}
  /// The memory of the program that expects them is allocated, and was counted: from now on
  /// libraries may take theirs.
  virtual void memory_is_taken() const {}
  /// All calls are made that were expected.
  virtual void expect_no_more() const {}
  /// Seconds that parts of this took so far.
  virtual std::vector<std::pair<std::string, double>> start_seconds() const { return {}; }
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
  std::optional<DeviceModel> model{};  // that costs are computed from; none: that of an H200
  std::string without{};  // why no device is to be opened: programs are planned, and not run
};

inline constexpr int kMostStreams = 2;
/// $PLAIT_CUDA_STREAMS, where it is set: how many a program has, without trying what is faster.
std::optional<int> streams_asked();

/// `device` is null where there is none: then programs can be planned, with our own kernels for
/// contractions, and not run.
std::unique_ptr<Target> make_cuda_target(std::shared_ptr<Device> device,
                                         std::shared_ptr<const Libraries> libraries,
                                         const CudaOptions& options);

}  // namespace plait::cuda
