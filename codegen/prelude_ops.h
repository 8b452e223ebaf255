// Prelude: the scalar operations that are no transcendental functions, meaning what apply_real and
// apply_integer of loop/scalar.h say. Comparisons give 0 or 1 in the operands' type.
#pragma once

#include <stdint.h>

#include "codegen/prelude_bits.h"

// float
static inline float pl_neg_f(float a) { return -a; }
static inline float pl_abs_f(float a) { return __builtin_fabsf(a); }
static inline float pl_sqrt_f(float a) { return __builtin_sqrtf(a); }
static inline float pl_floor_f(float a) { return __builtin_floorf(a); }
static inline float pl_ceil_f(float a) { return __builtin_ceilf(a); }
static inline float pl_round_f(float a) { return __builtin_nearbyintf(a); }
static inline float pl_trunc_f(float a) { return __builtin_truncf(a); }
static inline float pl_not_f(float a) { return a == 0 ? 1.0f : 0.0f; }
static inline float pl_add_f(float a, float b) { return a + b; }
static inline float pl_sub_f(float a, float b) { return a - b; }
static inline float pl_mul_f(float a, float b) { return a * b; }
static inline float pl_div_f(float a, float b) { return a / b; }
static inline float pl_fdiv_f(float a, float b) { return __builtin_floorf(a / b); }
static inline float pl_mod_f(float a, float b) {
  const float r = __builtin_fmodf(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
// NaN of either operand is passed on.
#if defined(__CUDACC__)
static inline float pl_max_f(float a, float b) {
  const float larger = a > b ? a : b;
  return a == a ? larger : a;
}
static inline float pl_min_f(float a, float b) {
  const float smaller = a < b ? a : b;
  return a == a ? smaller : a;
}
static inline double pl_max_d(double a, double b) {
  const double larger = a > b ? a : b;
  return a == a ? larger : a;
}
static inline double pl_min_d(double a, double b) {
  const double smaller = a < b ? a : b;
  return a == a ? smaller : a;
}
#else
// By bits: gcc makes branches of chains of choices, the less to be foreseen the newer it is, and
// does not vectorise a loop with branches. A limit that stands in the text as a number takes one
// comparison.
static inline float pl_unless_nan_f(float a, float other) {
  const uint32_t keep = -(uint32_t)(a == a);
  return pl_from_bits_f((pl_bits_f(other) & keep) | (pl_bits_f(a) & ~keep));
}
static inline double pl_unless_nan_d(double a, double other) {
  const uint64_t keep = -(uint64_t)(a == a);
  return pl_from_bits_d((pl_bits_d(other) & keep) | (pl_bits_d(a) & ~keep));
}
static inline float pl_max_f(float a, float b) { return pl_unless_nan_f(b, a <= b ? b : a); }
static inline float pl_min_f(float a, float b) { return pl_unless_nan_f(b, a >= b ? b : a); }
static inline double pl_max_d(double a, double b) { return pl_unless_nan_d(b, a <= b ? b : a); }
static inline double pl_min_d(double a, double b) { return pl_unless_nan_d(b, a >= b ? b : a); }
#endif
static inline float pl_lt_f(float a, float b) { return a < b ? 1.0f : 0.0f; }
static inline float pl_le_f(float a, float b) { return a <= b ? 1.0f : 0.0f; }
static inline float pl_eq_f(float a, float b) { return a == b ? 1.0f : 0.0f; }
static inline float pl_and_f(float a, float b) { return ((a != 0) & (b != 0)) ? 1.0f : 0.0f; }
static inline float pl_or_f(float a, float b) { return ((a != 0) | (b != 0)) ? 1.0f : 0.0f; }
static inline float pl_xor_f(float a, float b) { return (a != 0) != (b != 0) ? 1.0f : 0.0f; }
static inline float pl_select_f(float a, float b, float c) { return a != 0 ? b : c; }

// double
static inline double pl_neg_d(double a) { return -a; }
static inline double pl_abs_d(double a) { return __builtin_fabs(a); }
static inline double pl_sqrt_d(double a) { return __builtin_sqrt(a); }
static inline double pl_floor_d(double a) { return __builtin_floor(a); }
static inline double pl_ceil_d(double a) { return __builtin_ceil(a); }
static inline double pl_round_d(double a) { return __builtin_nearbyint(a); }
static inline double pl_trunc_d(double a) { return __builtin_trunc(a); }
static inline double pl_not_d(double a) { return a == 0 ? 1.0 : 0.0; }
static inline double pl_add_d(double a, double b) { return a + b; }
static inline double pl_sub_d(double a, double b) { return a - b; }
static inline double pl_mul_d(double a, double b) { return a * b; }
static inline double pl_div_d(double a, double b) { return a / b; }
static inline double pl_fdiv_d(double a, double b) { return __builtin_floor(a / b); }
static inline double pl_mod_d(double a, double b) {
  const double r = __builtin_fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline double pl_lt_d(double a, double b) { return a < b ? 1.0 : 0.0; }
static inline double pl_le_d(double a, double b) { return a <= b ? 1.0 : 0.0; }
static inline double pl_eq_d(double a, double b) { return a == b ? 1.0 : 0.0; }
static inline double pl_and_d(double a, double b) { return ((a != 0) & (b != 0)) ? 1.0 : 0.0; }
static inline double pl_or_d(double a, double b) { return ((a != 0) | (b != 0)) ? 1.0 : 0.0; }
static inline double pl_xor_d(double a, double b) { return (a != 0) != (b != 0) ? 1.0 : 0.0; }
static inline double pl_select_d(double a, double b, double c) { return a != 0 ? b : c; }

// int64: wraps.
static inline int64_t pl_neg_i(int64_t a) { return (int64_t)(0 - (uint64_t)a); }
static inline int64_t pl_abs_i(int64_t a) { return a < 0 ? pl_neg_i(a) : a; }
static inline int64_t pl_floor_i(int64_t a) { return a; }
static inline int64_t pl_ceil_i(int64_t a) { return a; }
static inline int64_t pl_round_i(int64_t a) { return a; }
static inline int64_t pl_trunc_i(int64_t a) { return a; }
static inline int64_t pl_not_i(int64_t a) { return a == 0; }
static inline int64_t pl_add_i(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t pl_sub_i(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b);
}
static inline int64_t pl_mul_i(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}
// By zero: fdiv and mod give 0 and never trap; the caller, who must report it, tests b == 0.
static inline int64_t pl_fdiv_i(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return pl_neg_i(a);
  return a / b - (int64_t)((a % b != 0) & ((a < 0) != (b < 0)));
}
static inline int64_t pl_mod_i(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return pl_sub_i(a, pl_mul_i(pl_fdiv_i(a, b), b));
}
static inline int64_t pl_pow_i(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  uint64_t result = 1, base = (uint64_t)a;
  for (uint64_t e = (uint64_t)b; e; e >>= 1, base *= base) {
    if (e & 1) result *= base;
  }
  return (int64_t)result;
}
static inline int64_t pl_max_i(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t pl_min_i(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t pl_lt_i(int64_t a, int64_t b) { return a < b; }
static inline int64_t pl_le_i(int64_t a, int64_t b) { return a <= b; }
static inline int64_t pl_eq_i(int64_t a, int64_t b) { return a == b; }
static inline int64_t pl_and_i(int64_t a, int64_t b) { return a & b; }
static inline int64_t pl_or_i(int64_t a, int64_t b) { return a | b; }
static inline int64_t pl_xor_i(int64_t a, int64_t b) { return a ^ b; }
static inline int64_t pl_select_i(int64_t a, int64_t b, int64_t c) { return a != 0 ? b : c; }
