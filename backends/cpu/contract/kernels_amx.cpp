// The contraction kernels on AMX tiles; the code is in tile_kernels.h.
#include "backends/cpu/contract/tile_kernels.h"
#include "backends/cpu/contract/vec_avx512.h"

namespace plait::cpu {

const Kernels& amx_kernels() {
  static constexpr TileShape shapes[] = {{32, 32, &tile_block<HardwareTiles>}};
  static constexpr Kernels kernels = half_kernels<Vec>(shapes, 1, true, &HardwareTiles::release);
  return kernels;
}

}  // namespace plait::cpu
