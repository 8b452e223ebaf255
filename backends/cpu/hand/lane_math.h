// Numbers of each float dtype as lanes of the type they are computed in, and e^x for x <= 0.
// Branch-free, so that loops over lanes vectorise. Only for the lanes_*.cpp files: all of it has
// internal linkage, so that no file takes another one's instructions.
#pragma once

#include <cstdint>

#include "base/half.h"
#include "codegen/prelude_double.h"
#include "codegen/prelude_exp.h"

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

/// e^x for x <= 0, within one unit in the last place. The float one is pl_exp_f without what larger
/// and subnormal results cost: 0 where it is below the smallest normal number.
inline float exp_below(float x) {
  const pl_reduced_t a = pl_reduce_ln2(x, 127.0f);
  const float y = pl_exp_near_f(a.r) * pl_from_bits_f(a.field << 23);
  return x < -87.33654f ? 0.0f : y;
}

inline double exp_below(double x) { return pl_exp_d(x); }

}  // namespace
}  // namespace plait::cpu
