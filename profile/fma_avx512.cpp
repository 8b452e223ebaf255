// Multiply-adds on 512-bit registers; compiled for AVX-512.
#include "profile/chains512.h"
#include "profile/fma_loops.h"

namespace plait::profile {
namespace {

float run(std::int64_t rounds) {
  const __m512 scale = _mm512_set1_ps(0.999f), more = _mm512_set1_ps(0.001f);
  return run_chains(
      rounds, [](int i) { return _mm512_set1_ps(static_cast<float>(i)); },
      [&](__m512 x) { return _mm512_fmadd_ps(x, scale, more); });
}

}  // namespace

FmaLoop fma_avx512() { return {run, std::int64_t{2} * kChains * kLanes}; }

}  // namespace plait::profile
