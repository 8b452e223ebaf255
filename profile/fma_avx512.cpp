// Multiply-adds on 512-bit registers; compiled for AVX-512. Twelve chains hide the latency of
// two units.
#include <immintrin.h>

#include "profile/fma_loops.h"

namespace plait::profile {
namespace {

constexpr int kChains = 12, kLanes = 16;

float run(std::int64_t rounds) {
  const __m512 scale = _mm512_set1_ps(0.999f), step = _mm512_set1_ps(0.001f);
  __m512 x[kChains];
  for (int i = 0; i < kChains; ++i) x[i] = _mm512_set1_ps(static_cast<float>(i));
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) x[i] = _mm512_fmadd_ps(x[i], scale, step);
  }
  float lanes[kLanes], sum = 0;
  for (int i = 1; i < kChains; ++i) x[0] = _mm512_add_ps(x[0], x[i]);
  _mm512_storeu_ps(lanes, x[0]);
  for (float lane : lanes) sum += lane;
  return sum;
}

}  // namespace

FmaLoop fma_avx512() { return {run, std::int64_t{2} * kChains * kLanes}; }

}  // namespace plait::profile
