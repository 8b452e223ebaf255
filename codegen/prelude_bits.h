// Prelude: bit casts, f16 and bf16, and the conversions of base/convert.h, bit for bit. Without
// branches, so that loops over them vectorise; no cast is ever made out of its range.
#pragma once

#include <stdint.h>

static inline uint32_t pl_bits_f(float x) {
  uint32_t u;
  __builtin_memcpy(&u, &x, sizeof u);
  return u;
}
static inline float pl_from_bits_f(uint32_t u) {
  float x;
  __builtin_memcpy(&x, &u, sizeof x);
  return x;
}
static inline uint64_t pl_bits_d(double x) {
  uint64_t u;
  __builtin_memcpy(&u, &x, sizeof u);
  return u;
}
static inline double pl_from_bits_d(uint64_t u) {
  double x;
  __builtin_memcpy(&x, &u, sizeof x);
  return x;
}

// Halves to float: exact. A NaN of f16 keeps its sign and loses its payload. Comparisons are
// signed: the vector units up to AVX2 have no others.
static inline float pl_f16_to_f(uint16_t h) {
  const uint32_t u = h, sign = (u & 0x8000) << 16;
  const int32_t rest = (int32_t)((u & 0x7fff) << 13);
  // A subnormal is its fraction put under the exponent of 2^-14, less that implicit one.
  const float tiny = pl_from_bits_f((uint32_t)rest + 0x38800000u) - 0x1p-14f;
  int32_t y = rest < 0x00800000 ? (int32_t)pl_bits_f(tiny) : rest + 0x38000000;
  y = rest > 0x0f7fffff ? 0x7f800000 : y;
  y = rest > 0x0f800000 ? 0x7fc00000 : y;
  return pl_from_bits_f((uint32_t)y | sign);
}
static inline float pl_bf16_to_f(uint16_t h) { return pl_from_bits_f((uint32_t)h << 16); }

// Float to halves: nearest even, overflow to infinity; a NaN becomes the quiet one of its sign.
// The half is made in the upper bits and shifted last: compilers would narrow every step otherwise.
static inline uint16_t pl_f_to_f16(float x) {
  const float a = __builtin_fabsf(x);
  const uint32_t u = pl_bits_f(x), rest = pl_bits_f(a);
  // Adding 0.5 leaves an ulp of 2^-24: the hardware rounds to a multiple of the subnormals' step.
  const uint32_t tiny = (pl_bits_f(a + 0.5f) - 0x3f000000u) << 16;
  uint32_t h = (rest - 0x38000000u + 0xfff + ((rest >> 13) & 1)) << 3;
  h = a < 0x1p-14f ? tiny : h;
  h = a >= 0x1p16f ? 0x7c000000u : h;
  h = x != x ? 0x7e000000u : h;
  return (uint16_t)(((h & 0x7fff0000u) | (u & 0x80000000u)) >> 16);
}
static inline uint16_t pl_f_to_bf16(float x) {
  const uint32_t u = pl_bits_f(x), rounded = u + 0x7fff + ((u >> 16) & 1);
  const uint32_t nan = (u & 0x80000000u) | 0x7fc00000;
  return (uint16_t)((x != x ? nan : rounded) >> 16);
}

// A float rounded to the values of a half.
static inline float pl_round_f16(float x) {
  const float a = __builtin_fabsf(x);
  const uint32_t rest = pl_bits_f(a);
  const float normal = pl_from_bits_f((rest + 0xfff + ((rest >> 13) & 1)) & ~0x1fffu);
  float y = a < 0x1p-14f ? (a + 0.5f) - 0.5f : normal;
  y = normal >= 0x1p16f ? __builtin_inff() : y;
  y = x != x ? __builtin_nanf("") : y;
  return __builtin_copysignf(y, x);
}
static inline float pl_round_bf16(float x) {
  const uint32_t u = pl_bits_f(x), rounded = (u + 0x7fff + ((u >> 16) & 1)) & 0xffff0000u;
  return pl_from_bits_f(x != x ? (u & 0x80000000u) | 0x7fc00000 : rounded);
}

// Double to float rounding to odd: what is rounded again to a half is then rounded once.
static inline float pl_d_to_f_odd(double x) {
  const float f = (float)x;
  const double back = (double)f;
  const uint32_t u = pl_bits_f(f);
  const uint32_t truncated = u - (__builtin_fabs(back) > __builtin_fabs(x) ? 1u : 0u);
  return pl_from_bits_f(back == x ? u : truncated | 1);
}
static inline uint16_t pl_d_to_f16(double x) { return pl_f_to_f16(pl_d_to_f_odd(x)); }
static inline uint16_t pl_d_to_bf16(double x) { return pl_f_to_bf16(pl_d_to_f_odd(x)); }

// Integers to halves, rounded once: beyond 2^53 the low bits go into one sticky bit.
static inline double pl_i_to_d_sticky(int64_t x) {
  const int64_t exact = (int64_t)1 << 53, low = 0x7ff;
  const int64_t sticky = (x & ~low) | ((x & low) != 0 ? low + 1 : 0);
  return (double)(x >= -exact && x <= exact ? x : sticky);
}
static inline uint16_t pl_i_to_f16(int64_t x) { return pl_d_to_f16(pl_i_to_d_sticky(x)); }
static inline uint16_t pl_i_to_bf16(int64_t x) { return pl_d_to_bf16(pl_i_to_d_sticky(x)); }

// Float to integer: towards zero, saturated, NaN gives 0. What is below 1 becomes 0 before it is
// converted: gcc 12 makes (double)(int)x a truncation, which would leave -0.
static inline int32_t pl_f_to_i32(float x) {
  const int over = x >= 0x1p31f;
  float y = x > -0x1p31f ? x : -0x1p31f;
  y = __builtin_fabsf(x) >= 1 && !over ? y : 0.0f;
  const int32_t i = (int32_t)y;
  return over ? INT32_MAX : i;
}
static inline int64_t pl_f_to_i64(float x) {
  const int over = x >= 0x1p63f;
  float y = x > -0x1p63f ? x : -0x1p63f;
  y = __builtin_fabsf(x) >= 1 && !over ? y : 0.0f;
  const int64_t i = (int64_t)y;
  return over ? INT64_MAX : i;
}
static inline int32_t pl_f_clamped(float x, float low, float high) {
  float y = x > low ? x : low;
  y = y < high ? y : high;
  return (int32_t)(__builtin_fabsf(x) >= 1 ? y : 0.0f);
}
static inline int16_t pl_f_to_i16(float x) { return (int16_t)pl_f_clamped(x, -32768, 32767); }
static inline int8_t pl_f_to_i8(float x) { return (int8_t)pl_f_clamped(x, -128, 127); }
static inline uint8_t pl_f_to_u8(float x) { return (uint8_t)pl_f_clamped(x, 0, 255); }
static inline uint8_t pl_f_to_bool(float x) { return x != 0; }

static inline int32_t pl_d_clamped(double x, double low, double high) {
  double y = x > low ? x : low;
  y = y < high ? y : high;
  return (int32_t)(__builtin_fabs(x) >= 1 ? y : 0.0);
}
static inline int64_t pl_d_to_i64(double x) {
  const int over = x >= 0x1p63;
  double y = x > -0x1p63 ? x : -0x1p63;
  y = __builtin_fabs(x) >= 1 && !over ? y : 0.0;
  const int64_t i = (int64_t)y;
  return over ? INT64_MAX : i;
}
static inline int32_t pl_d_to_i32(double x) { return pl_d_clamped(x, -0x1p31, 0x1p31 - 1); }
static inline int16_t pl_d_to_i16(double x) { return (int16_t)pl_d_clamped(x, -32768, 32767); }
static inline int8_t pl_d_to_i8(double x) { return (int8_t)pl_d_clamped(x, -128, 127); }
static inline uint8_t pl_d_to_u8(double x) { return (uint8_t)pl_d_clamped(x, 0, 255); }
static inline uint8_t pl_d_to_bool(double x) { return x != 0; }

// Integer to integer: wraps.
static inline int32_t pl_i_to_i32(int64_t x) { return (int32_t)(uint32_t)(uint64_t)x; }
static inline int16_t pl_i_to_i16(int64_t x) { return (int16_t)(uint16_t)(uint64_t)x; }
static inline int8_t pl_i_to_i8(int64_t x) { return (int8_t)(uint8_t)(uint64_t)x; }
static inline uint8_t pl_i_to_u8(int64_t x) { return (uint8_t)(uint64_t)x; }
static inline uint8_t pl_i_to_bool(int64_t x) { return x != 0; }
