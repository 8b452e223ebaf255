// Which instruction set the lanes run with.
#include "backends/cpu/hand/lanes.h"

namespace plait::cpu {

const LaneKernels& lane_kernels() {
  static const LaneKernels& chosen = [&]() -> const LaneKernels& {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")) {
      return lane_kernels_avx512();
    }
    return __builtin_cpu_supports("avx2") ? lane_kernels_avx2() : lane_kernels_sse2();
  }();
  return chosen;
}

}  // namespace plait::cpu
