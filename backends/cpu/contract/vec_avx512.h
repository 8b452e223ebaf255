// The sixteen-lane vector of the AVX-512 kernels (F, BW, DQ, VL).
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace plait::cpu {
namespace {

struct Vec {
  using Reg = __m512;
  static constexpr int kLanes = 16;
  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Reg r) { _mm512_storeu_ps(p, r); }
  static Reg broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
  /// Fewer than kLanes; a masked lane touches no memory.
  static void copy_few(const float* s, float* d, std::int64_t count) {
    const __mmask16 mask = static_cast<__mmask16>((1u << count) - 1);
    _mm512_mask_storeu_ps(d, mask, _mm512_maskz_loadu_ps(mask, s));
  }
  static Reg widen_bf16(const std::uint16_t* p) {
    const __m512i wide =
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
  }
  static Reg widen_f16(const std::uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void narrow_bf16(std::uint16_t* p, Reg r) {
    const __m512i bits = _mm512_castps_si512(r);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i bias = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
    const __m512i sign = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x8000));
    const __m512i quiet = _mm512_or_si512(sign, _mm512_set1_epi32(0x7fc0));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(r, r, _CMP_UNORD_Q);
    const __m256i narrow = _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(is_nan, rounded, quiet));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow);
  }
  static void narrow_f16(std::uint16_t* p, Reg r) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(r, _MM_FROUND_TO_NEAREST_INT));
  }
  /// Ties go away from zero. Infinity stays, large numbers become it, NaN becomes anything.
  static Reg nearest_bf16(Reg x) {
    const __m512i up = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
    return _mm512_castsi512_ps(_mm512_and_si512(up, _mm512_set1_epi32(-65536)));
  }
  /// The upper halves of both, in one word each.
  static void store_pairs(std::uint16_t* p, Reg low, Reg high) {
    const __m512i shifted = _mm512_srli_epi32(_mm512_castps_si512(low), 16);
    _mm512_storeu_si512(p, _mm512_mask_mov_epi16(_mm512_castps_si512(high), 0x55555555, shifted));
  }
  static bool is_zero(Reg r) { return _mm512_cmp_ps_mask(r, zero(), _CMP_EQ_OQ) == 0xffff; }
  static float widen_f16_one(std::uint16_t bits) { return _cvtsh_ss(bits); }
};

}  // namespace
}  // namespace plait::cpu
