// Sixteen lanes in plain C++, and the tables of kernels made of them and of emulated tiles.
#include "tests/backends/contract_emulated.h"

#include <algorithm>

#include "backends/cpu/contract/tile_kernels.h"
#include "backends/cpu/contract/vector_kernels.h"
#include "base/half.h"

namespace plait::cpu {
namespace {

/// Sixteen lanes, one at a time.
struct Wide {
  static constexpr int kLanes = 16;
  struct Reg {
    float lane[kLanes];
  };
  template <class F>
  static Reg make(F f) {
    Reg r;
    for (int i = 0; i < kLanes; ++i) r.lane[i] = f(i);
    return r;
  }
  static Reg zero() { return Reg{}; }
  static Reg load(const float* p) {
    return make([&](int i) { return p[i]; });
  }
  static void store(float* p, const Reg& r) { __builtin_memcpy(p, r.lane, sizeof r.lane); }
  static Reg broadcast(const float* p) {
    return make([&](int) { return *p; });
  }
  static Reg fma(const Reg& a, const Reg& b, const Reg& c) {
    return make([&](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
  }
  static Reg add(const Reg& a, const Reg& b) {
    return make([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static Reg sub(const Reg& a, const Reg& b) {
    return make([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  static void copy_few(const float* s, float* d, std::int64_t count) {
    __builtin_memcpy(d, s, static_cast<std::size_t>(count) * sizeof(float));
  }
  static Reg widen_bf16(const std::uint16_t* p) {
    return make([&](int i) { return bf16_value(p[i]); });
  }
  static Reg widen_f16(const std::uint16_t* p) {
    return make([&](int i) { return widen_f16_one(p[i]); });
  }
  static void narrow_bf16(std::uint16_t* p, Reg r) {
    for (int i = 0; i < kLanes; ++i) p[i] = bf16_bits(r.lane[i]);
  }
  static void narrow_f16(std::uint16_t* p, Reg r) {
    for (int i = 0; i < kLanes; ++i) p[i] = f16_bits(r.lane[i]);
  }
  static float widen_f16_one(std::uint16_t bits) { return static_cast<float>(f16_value(bits)); }
  static Reg nearest_bf16(const Reg& x) {
    return make([&](int i) { return from_bits((bits_of(x.lane[i]) + 0x8000) & 0xffff0000u); });
  }
  static void store_pairs(std::uint16_t* p, const Reg& low, const Reg& high) {
    for (int i = 0; i < kLanes; ++i) {
      p[2 * i] = static_cast<std::uint16_t>(bits_of(low.lane[i]) >> 16);
      p[2 * i + 1] = static_cast<std::uint16_t>(bits_of(high.lane[i]) >> 16);
    }
  }
  static bool is_zero(const Reg& r) {
    return std::all_of(r.lane, r.lane + kLanes, [](float x) { return x == 0; });
  }
  static std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
  static float from_bits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
};

/// The same with pairs of bf16: the odd ones are added last.
struct WideDot : Wide {
  struct Pair {
    std::uint16_t element[2 * kLanes];
  };
  static Pair load_pairs(const std::uint16_t* p) {
    Pair r;
    __builtin_memcpy(r.element, p, sizeof r.element);
    return r;
  }
  static Pair broadcast_pair(const std::uint16_t* p) {
    Pair r;
    for (int i = 0; i < 2 * kLanes; ++i) r.element[i] = p[i % 2];
    return r;
  }
  static Reg dot(const Pair& a, const Pair& b, const Reg& sum) {
    return make([&](int i) {
      const auto product = [&](int j) {
        return bf16_value(a.element[j]) * bf16_value(b.element[j]);
      };
      return sum.lane[i] + product(2 * i) + product(2 * i + 1);
    });
  }
};

}  // namespace

const Kernels& emulated_avx512_kernels() {
  static constexpr TileShape shapes[] = {shape_of<Singles<Wide>, 14, 2>(),
                                         shape_of<Singles<Wide>, 8, 3>(),
                                         shape_of<Singles<Wide>, 6, 4>()};
  static constexpr Kernels kernels = vector_kernels<Wide>(shapes, 3);
  return kernels;
}

const Kernels& emulated_avx512bf16_kernels() {
  static constexpr TileShape shapes[] = {shape_of<Pairs<WideDot>, 14, 2>(),
                                         shape_of<Pairs<WideDot>, 8, 3>(),
                                         shape_of<Pairs<WideDot>, 6, 4>()};
  static constexpr Kernels kernels = half_kernels<WideDot>(shapes, 3);
  return kernels;
}

const Kernels& emulated_amx_kernels() {
  static constexpr TileShape shapes[] = {{32, 32, &tile_block<EmulatedTiles>}};
  static constexpr Kernels kernels = half_kernels<Wide>(shapes, 1, true, &EmulatedTiles::release);
  return kernels;
}

}  // namespace plait::cpu
