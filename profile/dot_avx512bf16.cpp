// Products of bf16 pairs on 512-bit registers; compiled for AVX512-BF16.
#include "profile/chains512.h"
#include "profile/fma_loops.h"

namespace plait::profile {
namespace {

float run(std::int64_t rounds) {
  const __m512bh operand = (__m512bh)_mm512_set1_epi16(static_cast<short>(kDotOperand));
  return run_chains(
      rounds, [](int) { return _mm512_setzero_ps(); },
      [&](__m512 x) { return _mm512_dpbf16_ps(x, operand, operand); });
}

}  // namespace

FmaLoop dot_avx512bf16() { return {run, std::int64_t{4} * kChains * kLanes}; }

}  // namespace plait::profile
