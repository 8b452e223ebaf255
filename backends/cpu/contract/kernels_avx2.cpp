// The contraction kernels for AVX2 with FMA and F16C; the code is in vector_kernels.h.
#include "backends/cpu/contract/vec_avx2.h"
#include "backends/cpu/contract/vector_kernels.h"

namespace plait::cpu {

const Kernels& avx2_kernels() {
  static constexpr TileShape shapes[] = {shape_of<Singles<Vec>, 6, 2>(),
                                         shape_of<Singles<Vec>, 4, 3>()};
  static constexpr Kernels kernels =
      vector_kernels<Vec>(shapes, static_cast<int>(sizeof shapes / sizeof shapes[0]));
  return kernels;
}

}  // namespace plait::cpu
