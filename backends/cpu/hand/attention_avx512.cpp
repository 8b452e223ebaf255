// Attention's passes for AVX-512 (F, BW, DQ, VL).
#include "backends/cpu/hand/attention_avx512.h"

namespace plait::cpu {
namespace {

struct Lanes : WideLanes {
  static void store_words(std::uint16_t* p, Reg low, Reg high) {
    store_pairs(p, nearest_bf16(low), nearest_bf16(high));
  }
};

}  // namespace

const AttentionLanes& attention_lanes_avx512() { return kAttentionLanes<Lanes>; }

}  // namespace plait::cpu
