// Timing candidates for one contraction on the device: a library's algorithms and our own kernels,
// each with what follows the product. Where caches are to be cold, what is too large to wait in the
// cache for its turn is out of it before each run. Memory is taken for the timer and given back.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/fused.h"
#include "backends/target.h"
#include "loop/kernel.h"

namespace plait::cuda {

/// What an epilogue does as a kernel of its own: it reads the product, the last of its buffers,
/// where the first result is written, and runs along memory.
loop::Kernel kernel_behind(const loop::Kernel& epilogue, DType product);

class CandidateTimer {
 public:
  enum Caches { kWarm, kCold };

  /// Buffers as large as the contraction's axes and the epilogue's offsets reach, with random
  /// numbers. RunError when there is no memory for them.
  CandidateTimer(Device& device, const loop::BoundContraction& contraction,
                 const loop::Kernel* epilogue, const DimBindings& sizes, Caches caches);
  ~CandidateTimer();
  CandidateTimer(const CandidateTimer&) = delete;
  CandidateTimer& operator=(const CandidateTimer&) = delete;

  /// Seconds of a library's call as it is, run once before: of its first run, or while those are
  /// slow, the least of a few. RunError with the library's words when it does not run.
  double glance(const LibraryCall& call, const std::optional<Fused>& fused,
                const std::function<bool(double)>& is_slow);

  /// Seconds of a library's call, once it chose its fastest algorithm. RunError when none runs.
  double time(LibraryCall& call, const std::optional<Fused>& fused);
  /// The same with the kernel that reads the product, its last buffer, and does what follows.
  double time(LibraryCall& call, const PrintedLoop& behind);
  /// Seconds of each of some kernels that do it all; infinity where one does not run.
  std::vector<double> time(const std::vector<PrintedLoop>& generated);

 private:
  void take_buffers(const loop::BoundContraction& contraction, const loop::Kernel* epilogue);
  char* take(std::int64_t bytes, bool random);
  void give_back();
  void make_sweep();
  void tune(LibraryCall& call, LibraryOperands& operands);
  LibraryOperands operands(const std::optional<Fused>& fused) const;
  void run(const LibraryCall& call, const LibraryOperands& operands);
  Launch launch_of(const PrintedLoop& printed, const std::vector<char*>& buffers);
  double time(const PrintedLoop& generated, const Module& module);
  template <class F>
  double seconds_of(F run);
  template <class F>
  double row_seconds(F run);
  template <class F>
  double once_seconds(F run);
  template <class F>
  std::unique_ptr<Recording> recorded(int row, F run);

  Device& device_;
  DimBindings sizes_;
  std::vector<char*> owned_;
  char *a_ = nullptr, *b_ = nullptr, *c_ = nullptr, *flag_ = nullptr;
  std::vector<char*> buffers_;  // of the epilogue
  std::int64_t taken_ = 0;      // bytes
  std::shared_ptr<Module> sweeper_;
  Launch sweep_;  // empties the cache
  double sweep_seconds_ = 0;
};

}  // namespace plait::cuda
