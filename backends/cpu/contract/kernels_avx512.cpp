// The contraction kernels for AVX-512 (F, BW, DQ, VL); the code is in vector_kernels.h.
#include "backends/cpu/contract/vec_avx512.h"
#include "backends/cpu/contract/vector_kernels.h"

namespace plait::cpu {

const Kernels& avx512_kernels() {
  static constexpr TileShape shapes[] = {shape_of<Singles<Vec>, 14, 2>(),
                                         shape_of<Singles<Vec>, 8, 3>(),
                                         shape_of<Singles<Vec>, 6, 4>()};
  static constexpr Kernels kernels =
      vector_kernels<Vec>(shapes, static_cast<int>(sizeof shapes / sizeof shapes[0]));
  return kernels;
}

}  // namespace plait::cpu
