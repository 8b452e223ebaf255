// Loops that do nothing but multiply and add in registers, f32 or products of bf16, one per
// instruction set. Inside this room only.
#pragma once

#include <cstdint>

namespace plait::profile {

/// Runs `rounds` rounds and returns a sum that depends on all of them.
struct FmaLoop {
  float (*run)(std::int64_t rounds);
  std::int64_t operations;  // of one round; a multiply-add is two
};

FmaLoop fma_baseline();
// Only for a processor that has the instructions.
FmaLoop fma_avx2();
FmaLoop fma_avx512();

/// The bf16 that the following multiply by itself: 1/16, so that sums are exact for long.
inline constexpr std::uint16_t kDotOperand = 0x3d80;
FmaLoop dot_avx512bf16();
FmaLoop dot_amx();

}  // namespace plait::profile
