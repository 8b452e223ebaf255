// Prelude: exp, log and their kin in float, as polynomials without branches: loops over them
// vectorise. No fma is used, so the bits are the same on every machine. Each is right for NaN,
// infinities, zeros, subnormals and at the edges of overflow and underflow.
#pragma once

#include <stdint.h>

#include "codegen/prelude_bits.h"

// Largest error over every fifth float (exp: every float; pow: random pairs), in ulp of the result:
//   exp 1.01   expm1 1.09   sinh 2.18   cosh 1.43   tanh 1.34   erf 1.32
//   log 0.91   log1p 0.90   pow 0.51   erfc 4.83
// What is out of range is replaced at the end, not clamped at the start: compilers follow a clamped
// value through the whole computation and make two of it.

// x = n ln2 + r + rest, |r| <= ln2/2; the low bits of field are n + bias.
typedef struct {
  uint32_t field;
  float r, rest;
} pl_reduced_t;

static inline pl_reduced_t pl_reduce_ln2(float x, float bias) {
  pl_reduced_t a;
  const float t = x * 0x1.715476p+0f + (0x1.8p23f + bias);  // rounds to an integer
  const float n = t - (0x1.8p23f + bias);
  const float high = x - n * 0x1.62e4p-1f;  // exact: 15 bits of ln2
  const float low = n * 0x1.7f7d1cp-20f;
  a.field = pl_bits_f(t);
  a.r = high - low;
  a.rest = (high - a.r) - low;
  return a;
}

// exp(r) for |r| <= ln2/2.
static inline float pl_exp_near_f(float r) {
  const float z = r * r;
  const float tail = (0.5f + r * 0x1.5554a2p-3f) +
                     z * ((0x1.555684p-5f + r * 0x1.12308cp-7f) + z * 0x1.6b756ap-10f);
  return 1.0f + (r + z * tail);
}

static inline float pl_exp_f(float x) {
  const pl_reduced_t a = pl_reduce_ln2(x, 254.0f);
  const uint32_t half = a.field >> 1;  // two steps: 2^n itself may be out of range
  float y = pl_exp_near_f(a.r) * pl_from_bits_f(half << 23);
  y *= pl_from_bits_f((a.field - half) << 23);
  y = x > 89.0f ? __builtin_inff() : y;
  return x < -104.0f ? 0.0f : y;
}

// exp(x) / 4 for |x| <= 89.
static inline float pl_quarter_exp_f(float x) {
  const pl_reduced_t a = pl_reduce_ln2(x, 125.0f);
  return pl_exp_near_f(a.r) * pl_from_bits_f(a.field << 23);
}

// (exp(x) - 1) / 4 for -20 <= x <= 89.5; loses bits when x is subnormal.
static inline float pl_quarter_expm1_f(float x) {
  const pl_reduced_t a = pl_reduce_ln2(x, 125.0f);
  const float r = a.r, z = r * r;
  const float tail =
      (0.5f + r * 0x1.555554p-3f) +
      z * ((0x1.55552ep-5f + r * 0x1.111342p-7f) + z * (0x1.6cf8bep-10f + r * 0x1.9d7210p-13f));
  // 2^n (1 + r + rest + r^2 tail) - 1: the large terms are added exactly.
  const float scale = pl_from_bits_f(a.field << 23);
  const float one = scale - 0.25f, linear = scale * r;
  const float high = one + linear;
  const float low = linear - (high - one);
  return high + (low + scale * (z * tail + a.rest));
}

static inline float pl_expm1_f(float x) {
  float y = 4.0f * pl_quarter_expm1_f(x);
  y = __builtin_fabsf(x) < 0x1p-25f ? x : y;
  y = x > 89.0f ? __builtin_inff() : y;
  return x < -20.0f ? -1.0f : y;
}

static inline float pl_sinh_f(float x) {
  const float a = __builtin_fabsf(x);
  const float q = pl_quarter_expm1_f(a);
  float y = 2.0f * (q + q / (4.0f * q + 1.0f));
  y = a < 0x1p-13f ? a : y;
  y = a > 89.5f ? __builtin_inff() : y;
  return __builtin_copysignf(y, x);
}

static inline float pl_cosh_f(float x) {
  const float a = __builtin_fabsf(x);
  const float q = pl_quarter_exp_f(a);
  const float y = 2.0f * (q + 0.0625f / q);
  return a > 89.5f ? __builtin_inff() : y;
}

static inline float pl_tanh_f(float x) {
  const float a = __builtin_fabsf(x), z = x * x;
  const float large = 1.0f - 0.5f / (pl_quarter_exp_f(2.0f * a) + 0.25f);
  const float tail =
      -0x1.55553ep-2f +
      z * (0x1.1109bep-3f + z * (-0x1.b89abap-5f + z * (0x1.54c3c4p-6f + z * -0x1.82878cp-8f)));
  float y = a < 0.6f ? a + a * (z * tail) : large;
  y = a > 10.0f ? 1.0f : y;
  return __builtin_copysignf(y, x);
}

// erf(x) / x - 1 for |x| < 1, of the square.
static inline float pl_erf_near_f(float z) {
  return 0x1.06eba8p-3f +
         z * (-0x1.81273ep-2f +
              z * (0x1.ce2ce6p-4f +
                   z * (-0x1.b7f71ap-6f +
                        z * (0x1.53f224p-8f + z * (-0x1.a3515ep-11f + z * 0x1.4771fcp-14f)))));
}

static inline float pl_erf_f(float x) {
  const float a = __builtin_fabsf(x), p = pl_erf_near_f(x * x);
  // erf a = 1 - exp(-e) for 1 <= a < 4.
  const float e =
      0x1.72f81cp-12f +
      a * (0x1.2085aep+0f +
           a * (0x1.46c590p-1f +
                a * (0x1.a60a40p-4f +
                     a * (-0x1.6541c2p-6f + a * (0x1.814c58p-9f + a * -0x1.852cccp-13f)))));
  float y = a < 1.0f ? a + a * p : 1.0f - 4.0f * pl_quarter_exp_f(-e);
  y = a > 4.0f ? 1.0f : y;
  return __builtin_copysignf(y, x);
}

// erfc a = exp(-a^2) P(q) / (1 + 2a) for 0 <= a, q = (a - 4) / (a + 4). The square is in two parts,
// the first exact: 1 ulp of it would be 100 of the result.
static inline float pl_erfc_f(float x) {
  const float a = __builtin_fabsf(x);
  const float q = (a - 4.0f) / (a + 4.0f);
  const float p =
      0x1.3ba592p+0f +
      q * (-0x1.1df1a2p-3f +
           q * (0x1.f7e3e4p-7f +
                q * (0x1.16e7bcp-4f +
                     q * (-0x1.9dad1cp-4f +
                          q * (0x1.805558p-4f +
                               q * (-0x1.10c198p-4f +
                                    q * (0x1.2a544cp-5f +
                                         q * (-0x1.06ab2cp-6f +
                                              q * (0x1.c1e040p-8f + q * 0x1.b2ee9ap-11f)))))))));
  const float high = pl_from_bits_f(pl_bits_f(a) & 0xfffff000u);
  const float low = (a - high) * (a + high);  // below 0.08 where the result is not 0
  const float rest =
      1.0f - low * (1.0f - low * (0.5f - low * (0x1.555556p-3f - low * 0x1.555556p-5f)));
  float y = (p / (1.0f + 2.0f * a)) * rest * pl_exp_f(-(high * high));
  y = a > 10.1f ? 0.0f : y;
  y = x < 0.0f ? 2.0f - y : y;
  return a < 0.5f ? 1.0f - (x + x * pl_erf_near_f(x * x)) : y;
}

// log(u) + n ln2 + rest for a normal u > 0.
static inline float pl_log_normal_f(float u, float n0, float rest) {
  const uint32_t shifted = pl_bits_f(u) + (0x3f800000u - 0x3f3504f3u);
  const float n = (float)((int32_t)(shifted >> 23) - 127) + n0;
  const float m = pl_from_bits_f((shifted & 0x7fffffu) + 0x3f3504f3u);  // in [sqrt 1/2, sqrt 2)
  const float f = m - 1.0f;
  const float s = f / (2.0f + f), z = s * s;
  const float series = z * (0x1.55557ap-1f + z * (0x1.995ec8p-2f + z * 0x1.31e2f6p-2f));
  const float square = 0.5f * f * f;
  const float low = s * (square + series) - square;
  const float n_ln2 = n * 0x1.62e4p-1f;  // exact
  const float high = n_ln2 + f;
  const float lost = f - (high - n_ln2);
  return high + (lost + (low + (n * 0x1.7f7d1cp-20f + rest)));
}

static inline float pl_log_f(float x) {
  const float infinity = __builtin_inff();
  const int tiny = x < 0x1p-126f;
  float y = pl_log_normal_f(tiny ? x * 0x1p32f : x, tiny ? -32.0f : 0.0f, 0.0f);
  y = x == 0.0f ? -infinity : y;
  y = x < 0.0f ? __builtin_nanf("") : y;
  return x < infinity ? y : x;
}

static inline float pl_log1p_f(float x) {
  const float infinity = __builtin_inff();
  const float u = 1.0f + x, part = u - 1.0f;
  const float lost = (x - part) + (1.0f - (u - part));
  float y = pl_log_normal_f(u, 0.0f, lost / u);
  y = __builtin_fabsf(x) < 0x1p-25f ? x : y;
  const float edge = x == -1.0f ? -infinity : __builtin_nanf("");
  y = x > -1.0f ? y : edge;
  return x < infinity ? y : x;
}

// In double, where |a|^b = 2^(b log2 |a|) needs no care but for the special cases.
static inline float pl_pow_f(float a, float b) {
  const double x = __builtin_fabs((double)a), infinity = __builtin_inf();
  const uint64_t shifted = pl_bits_d(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  const double n = pl_from_bits_d(0x4330000000000000u | (shifted >> 52)) - (0x1p52 + 1023);
  const double m = pl_from_bits_d((shifted & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu);
  const double s = (m - 1) / (m + 1), z = s * s;
  double log2 = n + s * (0x1.71547652b8244p+1 +
                         z * (0x1.ec709dc545d91p-1 +
                              z * (0x1.2776c28bce7b9p-1 +
                                   z * (0x1.a61a337ce9a0ep-2 +
                                        z * (0x1.4794b1ae98232p-2 + z * 0x1.21b90a015d146p-2)))));
  log2 = x == 0 ? -infinity : log2;
  log2 = x < infinity ? log2 : x;
  const double e = (double)b * log2;
  const double rounded = e + 0x1.8p52;
  const double r = e - (rounded - 0x1.8p52);
  const double p =
      1 + r * (0x1.62e42ff0e22f1p-1 +
               r * (0x1.ebfbe077ae217p-3 +
                    r * (0x1.c6b08abf7e622p-5 +
                         r * (0x1.3b29f375bbb9fp-7 +
                              r * (0x1.5d8a8696c3358p-10 +
                                   r * (0x1.445ca64b31695p-13 + r * 0x1.fde5b830ccfa5p-17))))));
  float y = (float)(p * pl_from_bits_d((pl_bits_d(rounded) + 1023) << 52));
  y = e > 200 ? __builtin_inff() : y;
  y = e < -200 ? 0.0f : y;
  const int whole = __builtin_nearbyintf(b) == b;
  const int odd = whole & (__builtin_nearbyintf(0.5f * b) != 0.5f * b);
  y = (odd & (int)(pl_bits_f(a) >> 31)) ? -y : y;
  y = ((a < 0) & (a > -__builtin_inff()) & !whole) ? __builtin_nanf("") : y;
  y = ((x == 1) & (__builtin_fabsf(b) == __builtin_inff())) ? 1.0f : y;
  return ((a == 1) | (b == 0)) ? 1.0f : y;
}
