// Programs of this room as CUDA kernels that run on the CPU.
#include "backends/cuda/emulate/emulated_device.h"
#include "backends/cuda/target.h"
#include "tests/compiled/target_under_test.h"

namespace plait::test {

Tested tested() { return Tested::kEmulated; }

std::unique_ptr<Target> target_under_test(int) {
  return cuda::make_cuda_target(cuda::make_emulated_device(), nullptr, {});
}

}  // namespace plait::test
