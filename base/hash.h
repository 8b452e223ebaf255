// FNV-1a: one small hash for names (random streams) and contents (cache keys, fingerprints). Not
// for adversaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace plait {

constexpr std::uint32_t fnv1a32(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

inline constexpr std::uint64_t kFnv64 = 14695981039346656037ULL;

/// Continues `hash`, so that pieces hash as their concatenation does.
constexpr std::uint64_t fnv1a64(std::span<const std::byte> bytes, std::uint64_t hash = kFnv64) {
  for (std::byte b : bytes) hash = (hash ^ static_cast<unsigned char>(b)) * 1099511628211ULL;
  return hash;
}

constexpr std::uint64_t fnv1a64(std::string_view text, std::uint64_t hash = kFnv64) {
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

/// Its 16 hexadecimal digits.
inline std::string hex_digits(std::uint64_t hash) {
  std::string digits(16, '0');
  for (std::size_t i = 16; hash != 0; hash >>= 4) digits[--i] = "0123456789abcdef"[hash & 15];
  return digits;
}

}  // namespace plait
