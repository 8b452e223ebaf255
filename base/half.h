// f16 (IEEE binary16) and bf16 as storage types: conversion rounds to nearest even; arithmetic
// happens in float and rounds back, which for + - * / and sqrt is the correctly rounded result.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace plait {

/// Bits of the binary16 nearest to x (ties to even); overflow gives infinity, NaN stays NaN.
constexpr std::uint16_t f16_bits(double x) {
  const std::uint64_t u = std::bit_cast<std::uint64_t>(x);
  const std::uint16_t sign = static_cast<std::uint16_t>((u >> 48) & 0x8000);
  const int exponent = static_cast<int>((u >> 52) & 0x7ff) - 1023;
  const std::uint64_t fraction = u & 0xfffffffffffffULL;
  if (exponent == 1024) return sign | (fraction != 0 ? 0x7e00 : 0x7c00);
  if (exponent > 15) return sign | 0x7c00;
  if (exponent < -25) return sign;  // below half of the smallest subnormal
  const std::uint64_t significand = fraction | (1ULL << 52);
  const int drop = exponent >= -14 ? 42 : 42 + (-14 - exponent);
  std::uint64_t kept = significand >> drop;
  const std::uint64_t rest = significand & ((1ULL << drop) - 1);
  const std::uint64_t half = 1ULL << (drop - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  // A normal's implicit bit adds one to the exponent field; a carry out of the fraction does too.
  const std::uint64_t base = exponent >= -14 ? static_cast<std::uint64_t>(exponent + 14) << 10 : 0;
  return static_cast<std::uint16_t>(sign | (base + kept));
}

constexpr double f16_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const double fraction = bits & 0x3ff;
  const double sign = (bits & 0x8000) ? -1.0 : 1.0;
  if (exponent == 31) {
    return std::bit_cast<double>((static_cast<std::uint64_t>(bits & 0x8000) << 48) |
                                 (fraction != 0 ? 0x7ff8000000000000ULL : 0x7ff0000000000000ULL));
  }
  if (exponent == 0) return sign * fraction * 0x1p-24;
  const double scale =
      std::bit_cast<double>(static_cast<std::uint64_t>(exponent - 25 + 1023) << 52);
  return sign * (1024.0 + fraction) * scale;
}

/// Bits of the bfloat16 nearest to x (ties to even), rounded once from double.
constexpr std::uint16_t bf16_bits(double x) {
  const std::uint64_t u = std::bit_cast<std::uint64_t>(x);
  const std::uint16_t sign = static_cast<std::uint16_t>((u >> 48) & 0x8000);
  const int exponent = static_cast<int>((u >> 52) & 0x7ff) - 1023;
  const std::uint64_t fraction = u & 0xfffffffffffffULL;
  if (exponent == 1024) return sign | (fraction != 0 ? 0x7fc0 : 0x7f80);
  if (exponent > 127) return sign | 0x7f80;
  if (exponent < -134) return sign;
  const std::uint64_t significand = fraction | (1ULL << 52);
  const int drop = exponent >= -126 ? 45 : 45 + (-126 - exponent);
  std::uint64_t kept = significand >> drop;
  const std::uint64_t rest = significand & ((1ULL << drop) - 1);
  const std::uint64_t half = 1ULL << (drop - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  const std::uint64_t base = exponent >= -126 ? static_cast<std::uint64_t>(exponent + 126) << 7 : 0;
  return static_cast<std::uint16_t>(sign | (base + kept));
}

constexpr float bf16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// IEEE binary16.
struct f16 {
  std::uint16_t bits = 0;
  constexpr f16() = default;
  constexpr explicit f16(double x) : bits(f16_bits(x)) {}
  constexpr operator float() const { return static_cast<float>(f16_value(bits)); }
};

/// bfloat16: the upper half of a binary32.
struct bf16 {
  std::uint16_t bits = 0;
  constexpr bf16() = default;
  constexpr explicit bf16(double x) : bits(bf16_bits(x)) {}
  constexpr operator float() const { return bf16_value(bits); }
};

template <class H>
concept Half = std::same_as<H, f16> || std::same_as<H, bf16>;

template <Half H>
constexpr H operator+(H a, H b) {
  return H(static_cast<float>(a) + static_cast<float>(b));
}
template <Half H>
constexpr H operator-(H a, H b) {
  return H(static_cast<float>(a) - static_cast<float>(b));
}
template <Half H>
constexpr H operator*(H a, H b) {
  return H(static_cast<float>(a) * static_cast<float>(b));
}
template <Half H>
constexpr H operator/(H a, H b) {
  return H(static_cast<float>(a) / static_cast<float>(b));
}

}  // namespace plait
