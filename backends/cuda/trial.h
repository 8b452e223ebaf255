// Timing candidates for one contraction on the device: a library's algorithms and our own kernels,
// each with what follows the product. Memory is taken for the trial and given back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/fused.h"
#include "backends/target.h"
#include "loop/kernel.h"

namespace plait::cuda {

class Trial {
 public:
  /// Buffers as large as the contraction's axes and the epilogue's offsets reach, with random
  /// numbers. RunError when there is no memory for them.
  Trial(Device& device, const loop::BoundContraction& contraction, const loop::Kernel* epilogue,
        const DimBindings& sizes);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// Seconds of a library's call, once it chose its fastest algorithm.
  double time(LibraryCall& call, const std::optional<Fused>& fused);
  /// Seconds of each of some kernels that do it all.
  std::vector<double> time(const std::vector<PrintedLoop>& generated);

 private:
  char* take(std::int64_t bytes, bool random);
  Launch launch_of(const PrintedLoop& printed, const std::vector<char*>& buffers);
  double time(const PrintedLoop& generated, const Module& module);
  template <class F>
  double seconds_of(F run);

  Device& device_;
  DimBindings sizes_;
  std::vector<char*> owned_;
  char *a_ = nullptr, *b_ = nullptr, *c_ = nullptr, *flag_ = nullptr;
  std::vector<char*> buffers_;  // of the epilogue
};

}  // namespace plait::cuda
