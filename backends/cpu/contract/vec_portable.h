// The four-lane vector of the portable kernels: a multiplication and an addition, no fma.
#pragma once

#include "base/half.h"

namespace plait::cpu {
namespace {

struct Vec {
  using Reg = float __attribute__((vector_size(16)));
  static constexpr int kLanes = 4;
  static Reg zero() { return Reg{}; }
  static Reg load(const float* p) {
    Reg r;
    __builtin_memcpy(&r, p, sizeof r);
    return r;
  }
  static void store(float* p, Reg r) { __builtin_memcpy(p, &r, sizeof r); }
  static Reg broadcast(const float* p) { return Reg{*p, *p, *p, *p}; }
  static Reg fma(Reg a, Reg b, Reg c) { return a * b + c; }
  static Reg add(Reg a, Reg b) { return a + b; }
  static Reg sub(Reg a, Reg b) { return a - b; }
  static void copy_few(const float* s, float* d, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) d[i] = s[i];
  }
  static Reg widen_bf16(const std::uint16_t* p) {
    return Reg{bf16_value(p[0]), bf16_value(p[1]), bf16_value(p[2]), bf16_value(p[3])};
  }
  static Reg widen_f16(const std::uint16_t* p) {
    return Reg{widen_f16_one(p[0]), widen_f16_one(p[1]), widen_f16_one(p[2]), widen_f16_one(p[3])};
  }
  static void narrow_bf16(std::uint16_t* p, Reg r) {
    for (int i = 0; i < kLanes; ++i) p[i] = bf16_bits(r[i]);
  }
  static void narrow_f16(std::uint16_t* p, Reg r) {
    for (int i = 0; i < kLanes; ++i) p[i] = f16_bits(r[i]);
  }
  static float widen_f16_one(std::uint16_t bits) { return static_cast<float>(f16_value(bits)); }
};

}  // namespace
}  // namespace plait::cpu
