// Attention's passes for any machine.
#include "backends/cpu/contract/vec_portable.h"
#include "backends/cpu/hand/attention_lane_code.h"

namespace plait::cpu {
namespace {

struct Lanes : Vec {
  using Whole = std::int32_t __attribute__((vector_size(16)));
  static Reg set(float x) { return Reg{x, x, x, x}; }
  static Reg mul(Reg a, Reg b) { return a * b; }
  static Reg max(Reg a, Reg b) { return a > b ? a : b; }
  /// The whole number below x in its low bits.
  static Reg below(Reg x) { return (x - 0.5f) + 0x1.8p23f; }
  static Reg above_whole(Reg x) { return x - (below(x) - 0x1.8p23f); }
  static Reg times_power(Reg y, Reg x) {
    using Bits = std::uint32_t __attribute__((vector_size(16)));
    const Bits bits = reinterpret_cast<Bits>(y) + (reinterpret_cast<Bits>(below(x)) << 23);
    return reinterpret_cast<Reg>(bits & reinterpret_cast<Bits>(~(x < -126.0f)));
  }
  /// x where it is above y.
  static Reg larger_or(Reg x, Reg y, Reg otherwise) { return x > y ? x : otherwise; }
  static Reg zero_if_none(Reg x) {
    return reinterpret_cast<Reg>(reinterpret_cast<Whole>(x) & (x != kNone));
  }
  static bool differ(Reg a, Reg b) {
    const Whole d = a != b;
    return (d[0] | d[1] | d[2] | d[3]) != 0;
  }
  static Whole load_whole(const std::int32_t* p) {
    Whole r;
    __builtin_memcpy(&r, p, sizeof r);
    return r;
  }
  static Reg between(Reg s, std::int32_t at, Whole lo, Whole hi, Reg otherwise) {
    const Whole where = Whole{at, at, at, at};
    return ((where >= lo) & (where < hi)) ? s : otherwise;
  }
  static void store_words(std::uint16_t* p, Reg low, Reg high) {
    for (int i = 0; i < kLanes; ++i) {
      p[2 * i] = bf16_bits(low[i]);
      p[2 * i + 1] = bf16_bits(high[i]);
    }
  }
};

}  // namespace

const AttentionLanes& attention_lanes_portable() { return kAttentionLanes<Lanes>; }

}  // namespace plait::cpu
