// The sixteen lanes of attention's passes, but for their words of bf16.
#pragma once

#include "backends/cpu/contract/vec_avx512.h"
#include "backends/cpu/hand/attention_lane_code.h"

namespace plait::cpu {
namespace {

struct WideLanes : Vec {
  static Reg set(float x) { return _mm512_set1_ps(x); }
  static Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  static Reg max(Reg a, Reg b) { return _mm512_max_ps(a, b); }
  static Reg above_whole(Reg x) {  // 0 of -infinity
    return _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  }
  static Reg times_power(Reg y, Reg x) { return _mm512_scalef_ps(y, x); }  // rounds x down
  /// x where it is above y.
  static Reg larger_or(Reg x, Reg y, Reg otherwise) {
    return _mm512_mask_mov_ps(otherwise, _mm512_cmp_ps_mask(x, y, _CMP_GT_OQ), x);
  }
  static Reg zero_if_none(Reg x) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, set(kNone), _CMP_NEQ_UQ), x);
  }
  static bool differ(Reg a, Reg b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ) != 0; }
  static __m512i load_whole(const std::int32_t* p) { return _mm512_loadu_si512(p); }
  static Reg between(Reg s, std::int32_t at, __m512i lo, __m512i hi, Reg otherwise) {
    const __m512i where = _mm512_set1_epi32(at);
    const __mmask16 seen = _mm512_cmple_epi32_mask(lo, where) & _mm512_cmpgt_epi32_mask(hi, where);
    return _mm512_mask_mov_ps(otherwise, seen, s);
  }
};

}  // namespace
}  // namespace plait::cpu
