// Twelve chains of operations on 512-bit registers, which hide the latency of two units. Only for
// files that are compiled for AVX-512; inside this room only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace plait::profile {
namespace {

constexpr int kChains = 12, kLanes = 16;

/// Every chain begins as first(i), every round makes step(x) of it; the sum of them all.
template <class First, class Step>
float run_chains(std::int64_t rounds, First first, Step step) {
  __m512 x[kChains];
  for (int i = 0; i < kChains; ++i) x[i] = first(i);
  for (std::int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) x[i] = step(x[i]);
  }
  float lanes[kLanes], sum = 0;
  for (int i = 1; i < kChains; ++i) x[0] = _mm512_add_ps(x[0], x[i]);
  _mm512_storeu_ps(lanes, x[0]);
  for (float lane : lanes) sum += lane;
  return sum;
}

}  // namespace
}  // namespace plait::profile
