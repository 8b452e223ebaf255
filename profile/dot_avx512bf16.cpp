// Products of bf16 pairs on 512-bit registers; compiled for AVX512-BF16.
#include <immintrin.h>

#include "profile/fma_loops.h"

namespace plait::profile {
namespace {

constexpr int kChains = 12, kLanes = 16;

float run(std::int64_t rounds) {
  const __m512bh operand = (__m512bh)_mm512_set1_epi16(static_cast<short>(kDotOperand));
  __m512 x[kChains];
  for (__m512& chain : x) chain = _mm512_setzero_ps();
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) x[i] = _mm512_dpbf16_ps(x[i], operand, operand);
  }
  float lanes[kLanes], sum = 0;
  for (int i = 1; i < kChains; ++i) x[0] = _mm512_add_ps(x[0], x[i]);
  _mm512_storeu_ps(lanes, x[0]);
  for (float lane : lanes) sum += lane;
  return sum;
}

}  // namespace

FmaLoop dot_avx512bf16() { return {run, std::int64_t{4} * kChains * kLanes}; }

}  // namespace plait::profile
