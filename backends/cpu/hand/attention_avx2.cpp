// Attention's passes for AVX2 with FMA and F16C.
#include "backends/cpu/contract/vec_avx2.h"
#include "backends/cpu/hand/attention_lane_code.h"

namespace plait::cpu {
namespace {

struct Lanes : Vec {
  static Reg set(float x) { return _mm256_set1_ps(x); }
  static Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  static Reg max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
  static Reg above_whole(Reg x) { return _mm256_sub_ps(x, _mm256_floor_ps(x)); }
  static Reg times_power(Reg y, Reg x) {
    const __m256i power = _mm256_slli_epi32(_mm256_cvtps_epi32(_mm256_floor_ps(x)), 23);
    const Reg whole = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(y), power));
    return _mm256_and_ps(whole, _mm256_cmp_ps(x, set(-126.0f), _CMP_NLT_UQ));
  }
  /// x where it is above y.
  static Reg larger_or(Reg x, Reg y, Reg otherwise) {
    return _mm256_blendv_ps(otherwise, x, _mm256_cmp_ps(x, y, _CMP_GT_OQ));
  }
  static Reg zero_if_none(Reg x) {
    return _mm256_and_ps(x, _mm256_cmp_ps(x, set(kNone), _CMP_NEQ_UQ));
  }
  static bool differ(Reg a, Reg b) {
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NEQ_UQ)) != 0;
  }
  static __m256i load_whole(const std::int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static Reg between(Reg s, std::int32_t at, __m256i lo, __m256i hi, Reg otherwise) {
    const __m256i where = _mm256_set1_epi32(at);
    const __m256i seen =
        _mm256_andnot_si256(_mm256_cmpgt_epi32(lo, where), _mm256_cmpgt_epi32(hi, where));
    return _mm256_blendv_ps(otherwise, s, _mm256_castsi256_ps(seen));
  }
  static void store_words(std::uint16_t* p, Reg low, Reg high) {
    std::uint16_t both[2][kLanes];
    narrow_bf16(both[0], low);
    narrow_bf16(both[1], high);
    for (int i = 0; i < kLanes; ++i) {
      p[2 * i] = both[0][i];
      p[2 * i + 1] = both[1][i];
    }
  }
};

}  // namespace

const AttentionLanes& attention_lanes_avx2() { return kAttentionLanes<Lanes>; }

}  // namespace plait::cpu
