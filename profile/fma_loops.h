// Loops that do nothing but multiply and add f32 in registers, one per instruction set. Inside this
// room only.
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

}  // namespace plait::profile
