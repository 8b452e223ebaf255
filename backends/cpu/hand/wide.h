// What elements are accumulated in: double for floats of every dtype, wrapping 64-bit integers for
// the rest, rounded or wrapped once at the end, as the reference does.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "base/half.h"
#include "codegen/prelude_bits.h"

namespace plait::cpu {

template <class T>
using Wide = std::conditional_t<std::integral<T>, std::uint64_t, double>;

template <class T>
Wide<T> widen(T x) {
  if constexpr (std::same_as<T, f16>) {
    return pl_f16_to_f(x.bits);
  } else if constexpr (std::same_as<T, bf16>) {
    return pl_bf16_to_f(x.bits);
  } else if constexpr (std::integral<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
  } else {
    return x;
  }
}

template <class T>
T narrow(Wide<T> x) {
  if constexpr (Half<T>) {
    T half;
    half.bits = std::same_as<T, f16> ? pl_d_to_f16(x) : pl_d_to_bf16(x);
    return half;
  } else {
    return static_cast<T>(x);
  }
}

}  // namespace plait::cpu
