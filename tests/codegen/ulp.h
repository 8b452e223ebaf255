// How far a float or double is from the true value, in units in the last place of that value.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

namespace plait {

inline float float_of(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

/// want has more precision than got. NaN for NaN, infinity for infinity and the zero of the same
/// sign are 0 ulp away; what differs in kind is infinitely far. Overflow is judged as if the
/// exponent went on: infinity counts as the power of two after the largest number.
template <std::floating_point T, std::floating_point W>
double ulps(T got, W want) {
  using Limits = std::numeric_limits<T>;
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(want)) return std::isnan(got) ? 0 : kWrong;
  if (std::isnan(got)) return kWrong;
  if (got == 0 && std::signbit(got) != std::signbit(want)) return kWrong;
  if (std::isinf(want) || want == W(0)) return got == static_cast<T>(want) ? 0 : kWrong;
  if (std::isinf(got) && std::signbit(got) != std::signbit(want)) return kWrong;
  if (std::isinf(got) && std::isinf(static_cast<T>(want))) return 0;
  int exponent;
  std::frexp(want, &exponent);
  exponent = std::clamp(exponent, Limits::min_exponent, Limits::max_exponent);
  const W reached = std::isinf(got)
                        ? std::copysign(std::ldexp(W(1), Limits::max_exponent), static_cast<W>(got))
                        : static_cast<W>(got);
  return static_cast<double>(std::abs(std::ldexp(reached - want, Limits::digits - exponent)));
}

}  // namespace plait
