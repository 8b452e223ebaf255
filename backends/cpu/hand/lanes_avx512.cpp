// The lanes for AVX-512 (F, VL, DQ, BW).
#include <immintrin.h>

#include "backends/cpu/hand/draw_lanes.h"
#include "backends/cpu/hand/wkv_lanes.h"

namespace plait::cpu {
namespace {

typedef std::uint64_t Words __attribute__((vector_size(64)));

Words product(Words x, Words y) {
  return reinterpret_cast<Words>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(y)));
}

}  // namespace

const LaneKernels& lane_kernels_avx512() {
  static constexpr LaneKernels kernels{kWkvForward, kWkvBackward, random_words<Words, product>,
                                       normals};
  return kernels;
}

}  // namespace plait::cpu
