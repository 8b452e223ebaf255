// Numbers of each float dtype as lanes of the type they are computed in, and e^x for x <= 0.
// Branch-free, so that loops over lanes vectorise. Only for the lanes_*.cpp files: all of it has
// internal linkage, so that no file takes another one's instructions.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "codegen/prelude_bits.h"

namespace plait::cpu {
namespace {

inline double widen(double x) { return x; }
inline float widen(float x) { return x; }
inline float widen(f16 x) { return pl_f16_to_f(x.bits); }
inline float widen(bf16 x) { return pl_bf16_to_f(x.bits); }

inline void narrow(double x, double& out) { out = x; }
inline void narrow(float x, float& out) { out = x; }
inline void narrow(float x, f16& out) { out.bits = pl_f_to_f16(x); }
inline void narrow(float x, bf16& out) { out.bits = pl_f_to_bf16(x); }

/// e^x for x <= 0 within 2 units in the last place; 0 where it would be below the smallest normal
/// number. 2^n p(r) with n = round(x / ln 2), r = x - n ln 2; 2^n is 0 for the least n.
inline float exp_below(float x) {
  constexpr float kLeast = -88.0f, kMagic = 0x1.8p23f;
  const float y = x < kLeast ? kLeast : x;
  const float shifted = y * 1.44269504f + kMagic;  // n in the low bits
  const float n = shifted - kMagic;
  const float r = (y - n * 0.693359375f) + n * 2.12194440e-4f, q = r * r;
  const float top = 1.9875691500e-4f * r + 1.3981999507e-3f;
  const float middle = 8.3334519073e-3f * r + 4.1665795894e-2f;
  const float low = 1.6666665459e-1f * r + 5.0000001201e-1f;
  const float p = ((top * q + middle) * q + low) * q + r + 1.0f;
  return p * pl_from_bits_f((pl_bits_f(shifted) + 127u) << 23);
}

inline double exp_below(double x) {
  constexpr double kLeast = -709.0, kMagic = 0x1.8p52;
  const double y = x < kLeast ? kLeast : x;
  const double shifted = y * 1.4426950408889634 + kMagic;
  const double n = shifted - kMagic;
  const double r = (y - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
  double p = 1.0 / 6227020800;  // 1/13!, then down to 1/2!
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 1.0 / 2;
  p = p * r * r + r + 1.0;
  return p * pl_from_bits_d((pl_bits_d(shifted) + 1023u) << 52);
}

}  // namespace
}  // namespace plait::cpu
