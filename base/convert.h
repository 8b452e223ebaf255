// How a number changes dtype, once for everyone. To float: nearest even, rounded once. Float to
// integer: towards zero, saturated, NaN gives 0. Integer to integer: wraps. To bool: nonzero.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include "base/half.h"

namespace plait {

template <class To, class From>
To convert(From x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (std::same_as<To, bool>) {
    if constexpr (Half<From>) {
      return static_cast<float>(x) != 0.0f;
    } else {
      return x != From(0);
    }
  } else if constexpr (Half<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (Half<To> && std::integral<From> && sizeof(From) == 8) {
    // Beyond 2^53 the low bits go into one sticky bit, so that the half rounds once.
    constexpr From kExact = From(1) << 53, kLow = 0x7ff;
    if (x >= -kExact && x <= kExact) return To(static_cast<double>(x));
    return To(static_cast<double>((x & ~kLow) | ((x & kLow) != 0 ? kLow + 1 : 0)));
  } else if constexpr (Half<To>) {
    return To(static_cast<double>(x));
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    if (std::isnan(x)) return 0;
    using Limits = std::numeric_limits<To>;
    // 2^digits is exact in every float type, so the comparison saturates exactly at the edge.
    const From edge = std::ldexp(From(1), Limits::digits);
    if (x >= edge) return Limits::max();
    if (x <= (Limits::is_signed ? -edge : From(0))) return Limits::min();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace plait
