// Loops of a fixed number of rounds, written out: only then do accumulators stay in registers.
#pragma once

#include <utility>

namespace plait::cpu {
namespace {

/// f(0), f(1), .. f(N - 1), each number a constant.
template <int N, class F>
[[gnu::always_inline]] inline void each(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>{}), ...);
  }
  (std::make_integer_sequence<int, N>{});
}

}  // namespace
}  // namespace plait::cpu
