// The lanes for AVX2.
#include <immintrin.h>

#include "backends/cpu/hand/draw_lanes.h"
#include "backends/cpu/hand/wkv_lanes.h"

namespace plait::cpu {
namespace {

typedef std::uint64_t Words __attribute__((vector_size(32)));

Words product(Words x, Words y) {
  return reinterpret_cast<Words>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(y)));
}

}  // namespace

const LaneKernels& lane_kernels_avx2() {
  static constexpr LaneKernels kernels{kWkvForward, kWkvBackward, random_words<Words, product>,
                                       normals};
  return kernels;
}

}  // namespace plait::cpu
