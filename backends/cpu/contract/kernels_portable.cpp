// The contraction kernels for any machine; the code is in vector_kernels.h.
#include "backends/cpu/contract/vec_portable.h"
#include "backends/cpu/contract/vector_kernels.h"

namespace plait::cpu {

const Kernels& portable_kernels() {
  static constexpr TileShape shapes[] = {shape_of<Singles<Vec>, 6, 2>()};
  static constexpr Kernels kernels =
      vector_kernels<Vec>(shapes, static_cast<int>(sizeof shapes / sizeof shapes[0]));
  return kernels;
}

}  // namespace plait::cpu
