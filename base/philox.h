// Philox4x32-10 (Salmon et al. 2011): counter-based random numbers. Draws are keyed by (seed, step,
// stream, element), so recomputing, sharding or resuming never changes what is drawn.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace plait {

using Philox = std::array<std::uint32_t, 4>;

constexpr Philox philox4x32(Philox counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ULL * counter[0];
    const std::uint64_t p1 = 0xCD9E8D57ULL * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// What identifies a draw, apart from the element.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t stream = 0;
};

constexpr Philox random_bits(const RandomKey& k, std::uint64_t element) {
  return philox4x32({static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32),
                     k.stream, static_cast<std::uint32_t>(k.step)},
                    {static_cast<std::uint32_t>(k.seed),
                     static_cast<std::uint32_t>((k.seed >> 32) ^ (k.step >> 32) * 0x9E3779B9)});
}

/// Uniform in [0, 1) with 24 bits: exact in f32.
constexpr double random_uniform(const RandomKey& k, std::uint64_t element) {
  return static_cast<double>(random_bits(k, element)[0] >> 8) * 0x1p-24;
}

/// 16 bits for the pair of a query and a key of one head, of `queries` x `keys` pairs. One draw
/// serves the eight pairs that a thread holds of a 16 x 16 tile of a tensor core's result: two rows
/// and two columns, each with those 8 on.
constexpr std::uint32_t pair_bits(const RandomKey& k, std::uint64_t head, std::uint64_t query,
                                  std::uint64_t key, std::uint64_t queries, std::uint64_t keys) {
  const std::uint64_t tile =
      (head * ((queries + 15) / 16) + query / 16) * ((keys + 15) / 16) + key / 16;
  const Philox words = random_bits(k, tile * 32 + query % 8 * 4 + key % 8 / 2);
  const std::uint32_t word = words[key / 8 % 2 * 2 + query / 8 % 2];
  return key % 2 != 0 ? word >> 16 : word & 0xffff;
}

/// Below which of 2^16 a pair is dropped.
inline std::uint32_t pair_threshold(double p) {
  return static_cast<std::uint32_t>(std::lround(p * 65536));
}

/// Standard normal by Box-Muller, from 32 bits each.
inline double random_normal(const RandomKey& k, std::uint64_t element) {
  const Philox bits = random_bits(k, element);
  const double radius = std::sqrt(-2.0 * std::log((bits[0] + 1.0) * 0x1p-32));
  return radius * std::cos(2.0 * std::numbers::pi * (bits[1] * 0x1p-32));
}

}  // namespace plait
