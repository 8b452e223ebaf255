// The lanes for SSE2, which every x86-64 has.
#include <immintrin.h>

#include "backends/cpu/hand/draw_lanes.h"
#include "backends/cpu/hand/wkv_lanes.h"

namespace plait::cpu {
namespace {

typedef std::uint64_t Words __attribute__((vector_size(16)));

Words product(Words x, Words y) {
  return reinterpret_cast<Words>(
      _mm_mul_epu32(reinterpret_cast<__m128i>(x), reinterpret_cast<__m128i>(y)));
}

}  // namespace

const LaneKernels& lane_kernels_sse2() {
  static constexpr LaneKernels kernels{kWkvForward, kWkvBackward, random_words<Words, product>,
                                       normals};
  return kernels;
}

}  // namespace plait::cpu
