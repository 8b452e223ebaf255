// Prelude: the trigonometric functions in float, as polynomials without branches: loops over them
// vectorise. No fma is used, so the bits are the same on every machine. Each is right for NaN,
// infinities, signed zeros and subnormals; sin, cos and tan for every finite argument.
// Largest error over every fifth float (atan2: random pairs), in ulp of the result:
//   sin 1.56   cos 1.55   tan 2.50   asin 2.41   acos 1.14   atan 1.53   atan2 1.54
#pragma once

#include <stdint.h>

#include "codegen/prelude_bits.h"

// x = quadrant * pi/2 + r modulo 2 pi, |r| <= pi/4.
typedef struct {
  uint32_t quadrant;
  float r;
} pl_angle_t;

// In turns: x / 2 pi is x times three pieces of 1 / 2 pi, each product taken modulo 1. The first
// two pieces have 29 bits, so that those products are exact. A large x = d 2^35 or d 2^70 with d
// whole takes d times the pieces of 2^35 / 2 pi or 2^70 / 2 pi, themselves modulo 1.
static inline pl_angle_t pl_reduce_angle(float x) {
  const float a = __builtin_fabsf(x);
  const int large = a >= 0x1p58f, huge = a >= 0x1p93f;
  const double d = (double)(x * (huge ? 0x1p-70f : large ? 0x1p-35f : 1.0f));
  const double t0 = d * (huge ? -0x1.ec5417p-3 : large ? -0x1.8ddf56bp-2 : 0x1.45f306ep-3);
  const double t1 = d * (huge ? -0x1.596447ep-33 : large ? -0x1.ec5418p-38 : -0x1.b1bbeacp-34);
  const double t2 = d * (huge    ? -0x1.24eb53361de38p-63
                         : large ? 0x1.f534ddc0db629p-63
                                 : -0x1.603d8a82e0acbp-62);
  const double f0 = t0 - __builtin_rint(t0), f1 = t1 - __builtin_rint(t1);
  const double quarters = 4 * ((f0 + f1) + t2) + 0x1.8p52;
  const double f = ((f0 - 0.25 * (quarters - 0x1.8p52)) + f1) + t2;
  pl_angle_t angle;
  angle.quadrant = (uint32_t)pl_bits_d(quarters);
  angle.r = (float)(f * 0x1.921fb54442d18p+2);
  return angle;
}

// sin(r + quadrant pi/2) for |r| <= pi/4.
static inline float pl_sin_at(pl_angle_t a) {
  const float r = a.r, z = r * r;
  const float s = r + r * (z * (-0x1.555544p-3f + z * (0x1.1106c6p-7f + z * -0x1.991c26p-13f)));
  const float c =
      1.0f - (0.5f * z - z * z * (0x1.55554ap-5f + z * (-0x1.6c0c26p-10f + z * 0x1.99e714p-16f)));
  const float y = (a.quadrant & 1) ? c : s;
  return pl_from_bits_f(pl_bits_f(y) ^ ((a.quadrant & 2) << 30));
}

static inline float pl_sin_f(float x) {
  float y = pl_sin_at(pl_reduce_angle(x));
  y = __builtin_fabsf(x) < 0x1p-13f ? x : y;  // and -0 is kept
  return __builtin_fabsf(x) < __builtin_inff() ? y : x - x;
}
static inline float pl_cos_f(float x) {
  pl_angle_t a = pl_reduce_angle(x);
  a.quadrant += 1;
  const float y = pl_sin_at(a);
  return __builtin_fabsf(x) < __builtin_inff() ? y : x - x;
}
static inline float pl_tan_f(float x) {
  const pl_angle_t a = pl_reduce_angle(x);
  const float r = a.r, z = r * r;
  const float p =
      z * (0x1.555560p-2f +
           z * (0x1.110d96p-3f +
                z * (0x1.badbfcp-5f +
                     z * (0x1.5ca42ap-6f +
                          z * (0x1.6375dap-7f + z * (0x1.24a9a2p-14f + z * 0x1.1f8feap-8f))))));
  const float t = r + r * p;
  const int odd = a.quadrant & 1;
  float y = (odd ? -1.0f : t) / (odd ? t : 1.0f);
  y = __builtin_fabsf(x) < 0x1p-13f ? x : y;
  return __builtin_fabsf(x) < __builtin_inff() ? y : x - x;
}

// atan(t) for 0 <= t <= 1.
static inline float pl_atan_unit(float t) {
  const float z = t * t;
  const float p =
      z * (-0x1.55553ep-2f +
           z * (0x1.9991e4p-3f +
                z * (-0x1.242084p-3f +
                     z * (0x1.c08c18p-4f +
                          z * (-0x1.580806p-4f +
                               z * (0x1.da247cp-5f +
                                    z * (-0x1.fd6ee4p-6f +
                                         z * (0x1.640fbcp-7f + z * -0x1.d32b2cp-10f))))))));
  return t + t * p;
}

static inline float pl_atan_f(float x) {
  const float a = __builtin_fabsf(x);
  const int large = a > 1.0f;
  const float t = pl_atan_unit((large ? 1.0f : a) / (large ? a : 1.0f));
  const float y = large ? 0x1.921fb6p+0f - (t + 0x1.777a5cp-25f) : t;
  return __builtin_copysignf(y, x);
}

static inline float pl_atan2_f(float y, float x) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y);
  const int steep = ay > ax, left = (int)(pl_bits_f(x) >> 31);
  float t = (steep ? ax : ay) / (steep ? ay : ax);
  t = ax == ay ? 1.0f : t;  // inf / inf
  t = ay == 0.0f ? 0.0f : t;
  const float angle = pl_atan_unit(t);
  // pi/2 when steep, pi on the left, else 0, plus or minus the angle.
  const float base = steep ? 0x1.921fb6p+0f : left ? 0x1.921fb6p+1f : 0.0f;
  const float base_low = steep ? -0x1.777a5cp-25f : left ? -0x1.777a5cp-24f : 0.0f;
  const float signed_angle = (steep != left) ? -angle : angle;
  const float result = __builtin_copysignf(base + (signed_angle + base_low), y);
  return ((x != x) | (y != y)) ? x + y : result;
}

// asin(s) for s^2 = z <= 1/4.
static inline float pl_asin_half(float s, float z) {
  const float p =
      z * (0x1.5555c8p-3f +
           z * (0x1.3301fcp-4f + z * (0x1.747d06p-5f + z * (0x1.8c2d82p-6f + z * 0x1.596d66p-5f))));
  return s + s * p;
}

static inline float pl_asin_f(float x) {
  const float a = __builtin_fabsf(x);
  const int large = a > 0.5f;
  const float z = large ? 0.5f * (1.0f - a) : a * a;
  const float t = pl_asin_half(large ? __builtin_sqrtf(z) : a, z);
  const float y = large ? 0x1.921fb6p+0f - (2.0f * t + 0x1.777a5cp-25f) : t;
  return __builtin_copysignf(y, x);
}

static inline float pl_acos_f(float x) {
  const float a = __builtin_fabsf(x);
  const int large = a > 0.5f;
  const float z = large ? 0.5f * (1.0f - a) : a * a;
  const float t = pl_asin_half(large ? __builtin_sqrtf(z) : x, z);
  const float left = 0x1.921fb6p+1f - (2.0f * t + 0x1.777a5cp-24f);
  const float mid = 0x1.921fb6p+0f - (t + 0x1.777a5cp-25f);
  return large ? (x < 0 ? left : 2.0f * t) : mid;
}
