// Prelude: the functions in double. exp, expm1, log and tanh are polynomials without branches, made
// as those of prelude_exp.h; the rest is libm's. Largest error seen over random arguments, in ulp:
//   exp 0.89   expm1 1.16   log 0.88   tanh 2.34
#pragma once

#include <stdint.h>

#include "codegen/prelude_bits.h"

// x = n ln2 + r + rest, |r| <= ln2/2; the low bits of field are n + bias.
typedef struct {
  uint64_t field;
  double r, rest;
} pl_reduced_d_t;

static inline pl_reduced_d_t pl_reduce_ln2_d(double x, double bias) {
  pl_reduced_d_t a;
  const double t = x * 0x1.71547652b82fep+0 + (0x1.8p52 + bias);  // rounds to an integer
  const double n = t - (0x1.8p52 + bias);
  const double high = x - n * 0x1.62e42feep-1;  // exact: 32 bits of ln2
  const double low = n * 0x1.a39ef35793c76p-33;
  a.field = pl_bits_d(t);
  a.r = high - low;
  a.rest = (high - a.r) - low;
  return a;
}

// (exp(r) - 1 - r) / r^2 for |r| <= ln2/2.
static inline double pl_exp_tail_d(double r) {
  const double z = r * r;
  const double low =
      (0.5 + r * 0x1.5555555555559p-3) + z * (0x1.5555555555549p-5 + r * 0x1.111111110f7ebp-7);
  const double mid = (0x1.6c16c16c1ccdcp-10 + r * 0x1.a01a01af76156p-13) +
                     z * (0x1.a01a01830856p-16 + r * 0x1.71ddf952944e1p-19);
  const double high =
      (0x1.27e52b27a3055p-22 + r * 0x1.af5d22a191e2ap-26) + z * 0x1.1ef52aab80655p-29;
  return low + (z * z) * (mid + (z * z) * high);
}

static inline double pl_exp_d(double x) {
  const pl_reduced_d_t a = pl_reduce_ln2_d(x, 2046.0);
  const uint64_t half = a.field >> 1;
  double y = 1 + (a.r + (a.rest + a.r * a.r * pl_exp_tail_d(a.r)));
  y *= pl_from_bits_d(half << 52);
  y *= pl_from_bits_d((a.field - half) << 52);
  y = x > 710 ? __builtin_inf() : y;
  return x < -746 ? 0.0 : y;
}

// (exp(x) - 1) / 4 for -40 <= x <= 710; loses bits when x is subnormal.
static inline double pl_quarter_expm1_d(double x) {
  const pl_reduced_d_t a = pl_reduce_ln2_d(x, 1021.0);
  const double scale = pl_from_bits_d(a.field << 52);
  const double one = scale - 0.25, linear = scale * a.r;
  const double high = one + linear;
  const double low = linear - (high - one);
  return high + (low + scale * (a.r * a.r * pl_exp_tail_d(a.r) + a.rest));
}

static inline double pl_expm1_d(double x) {
  double y = 4 * pl_quarter_expm1_d(x);
  y = __builtin_fabs(x) < 0x1p-54 ? x : y;
  y = x > 710 ? __builtin_inf() : y;
  return x < -40 ? -1.0 : y;
}

static inline double pl_tanh_d(double x) {
  const double a = __builtin_fabs(x);
  const double q = pl_quarter_expm1_d(2 * a);
  double y = q / (q + 0.5);
  y = a < 0x1p-28 ? a : y;
  y = a > 20 ? 1.0 : y;
  return __builtin_copysign(y, x);
}

static inline double pl_log_d(double x) {
  const int tiny = x < 0x1p-1022;
  const double u = tiny ? x * 0x1p54 : x;
  const uint64_t shifted = pl_bits_d(u) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  const double m = pl_from_bits_d((shifted & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu);
  double n = pl_from_bits_d(0x4330000000000000u | (shifted >> 52)) - (0x1p52 + 1023);
  n = tiny ? n - 54 : n;
  const double f = m - 1;
  const double s = f / (2 + f), z = s * s, w = z * z;
  const double odd =
      w * (0x1.999999997fa04p-2 + w * (0x1.c71c51d8e78afp-3 + w * 0x1.39a09d078c69fp-3));
  const double even =
      z * (0x1.5555555555593p-1 +
           w * (0x1.2492494229359p-2 + w * (0x1.7466496cb03dep-3 + w * 0x1.2f112df3e5244p-3)));
  const double square = 0.5 * f * f;
  const double tail = s * (square + (odd + even)) - square;
  const double n_ln2 = n * 0x1.62e42feep-1;  // exact
  const double high = n_ln2 + f;
  const double lost = f - (high - n_ln2);
  double y = high + (lost + (tail + n * 0x1.a39ef35793c76p-33));
  y = x == 0 ? -__builtin_inf() : y;
  y = x < 0 ? __builtin_nan("") : y;
  return x < __builtin_inf() ? y : x;
}

static inline double pl_log1p_d(double x) { return __builtin_log1p(x); }
static inline double pl_sinh_d(double x) { return __builtin_sinh(x); }
static inline double pl_cosh_d(double x) { return __builtin_cosh(x); }
static inline double pl_erf_d(double x) { return __builtin_erf(x); }
static inline double pl_erfc_d(double x) { return __builtin_erfc(x); }
static inline double pl_sin_d(double x) { return __builtin_sin(x); }
static inline double pl_cos_d(double x) { return __builtin_cos(x); }
static inline double pl_tan_d(double x) { return __builtin_tan(x); }
static inline double pl_asin_d(double x) { return __builtin_asin(x); }
static inline double pl_acos_d(double x) { return __builtin_acos(x); }
static inline double pl_atan_d(double x) { return __builtin_atan(x); }
static inline double pl_pow_d(double a, double b) { return __builtin_pow(a, b); }
static inline double pl_atan2_d(double a, double b) { return __builtin_atan2(a, b); }
