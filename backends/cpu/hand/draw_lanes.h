// Philox and Box-Muller (base/philox.h) on lanes of elements. Only for the lanes_*.cpp files.
#pragma once

#include <numbers>

#include "backends/cpu/hand/lanes.h"
#include "codegen/prelude_double.h"

namespace plait::cpu {
namespace {

/// The lower halves of so many lanes.
template <class V, int kDeep>
void store_words(const V (&from)[kDeep], int lanes, std::uint32_t* to) {
  constexpr int kAll = static_cast<int>(sizeof from / 8);
  std::uint64_t wide[kAll];
  std::uint32_t words[kAll];
  __builtin_memcpy(wide, from, sizeof wide);
  for (int j = 0; j < kAll; ++j) words[j] = static_cast<std::uint32_t>(wide[j]);
  if (lanes == kAll) {
    __builtin_memcpy(to, words, sizeof words);
  } else {
    __builtin_memcpy(to, words, static_cast<std::size_t>(lanes) * 4);
  }
}

/// Ten rounds of Philox4x32 on lanes of 64 bits, of which only the lower 32 count. V is a vector of
/// them, of which there are kDeep side by side; product(x, m) multiplies the lower halves.
template <class V, V (*product)(V, V)>
void random_words(const RandomKey& key, std::uint64_t first, int count, std::uint32_t* one,
                  std::uint32_t* two, std::uint32_t* three, std::uint32_t* four) {
  constexpr int kWide = sizeof(V) / 8, kDeep = 2, kBoth = kWide * kDeep;
  for (int done = 0; done < count; done += kBoth) {
    union {
      V vectors[kDeep];
      std::uint64_t lanes[kBoth];
    } a, b;
    V c[kDeep], d[kDeep];
    for (int j = 0; j < kBoth; ++j) {
      a.lanes[j] = first + static_cast<std::uint64_t>(done + j);
      b.lanes[j] = a.lanes[j] >> 32;
    }
    for (int j = 0; j < kDeep; ++j) {
      c[j] = V{} + key.stream;
      d[j] = V{} + static_cast<std::uint32_t>(key.step);
    }
    auto key0 = static_cast<std::uint32_t>(key.seed);
    auto key1 = static_cast<std::uint32_t>((key.seed >> 32) ^ (key.step >> 32) * 0x9E3779B9);
    for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9, key1 += 0xBB67AE85) {
      for (int j = 0; j < kDeep; ++j) {
        const V p0 = product(a.vectors[j], V{} + 0xD2511F53);
        const V p1 = product(c[j], V{} + 0xCD9E8D57);
        a.vectors[j] = (p1 >> 32) ^ b.vectors[j] ^ key0;
        c[j] = (p0 >> 32) ^ d[j] ^ key1;
        b.vectors[j] = p1;
        d[j] = p0;
      }
    }
    const int lanes = count - done < kBoth ? count - done : kBoth;
    store_words(a.vectors, lanes, one + done);
    if (two) store_words(b.vectors, lanes, two + done);
    if (three) {
      store_words(c, lanes, three + done);
      store_words(d, lanes, four + done);
    }
  }
}

/// Exact. The bits of 2^52 + x, less 2^52.
inline double double_of(std::uint64_t x) { return pl_from_bits_d(x | 0x4330000000000000) - 0x1p52; }

/// cos(2 pi x 2^-32): by quarters of the circle, each from -1/8 to 1/8.
inline double cos_of_turn(std::uint32_t x) {
  const std::uint64_t wide = x, quarter = (wide + 0x20000000) >> 30;
  const double turn = (double_of(wide) - double_of(quarter << 30)) * 0x1p-32;
  const double t = turn * (2 * std::numbers::pi), q = t * t;
  double sine = -1.0 / 1307674368000;  // 1/15!, every other one down to 1/3!
  sine = sine * q + 1.0 / 6227020800;
  sine = sine * q - 1.0 / 39916800;
  sine = sine * q + 1.0 / 362880;
  sine = sine * q - 1.0 / 5040;
  sine = sine * q + 1.0 / 120;
  sine = sine * q - 1.0 / 6;
  sine = sine * q * t + t;
  double cosine = 1.0 / 20922789888000;  // 1/16!, every other one down to 1/2!
  cosine = cosine * q - 1.0 / 87178291200;
  cosine = cosine * q + 1.0 / 479001600;
  cosine = cosine * q - 1.0 / 3628800;
  cosine = cosine * q + 1.0 / 40320;
  cosine = cosine * q - 1.0 / 720;
  cosine = cosine * q + 1.0 / 24;
  cosine = cosine * q - 1.0 / 2;
  cosine = cosine * q + 1;
  // Quarters 0 to 3: cos, -sin, -cos, sin; 4 is 0 again.
  const double size = quarter & 1 ? sine : cosine;
  return ((quarter + 1) & 2) != 0 ? -size : size;
}

void normals(const std::uint32_t* one, const std::uint32_t* two, int count, double* out) {
#pragma omp simd
  for (int j = 0; j < count; ++j) {
    const double radius = __builtin_sqrt(-2 * pl_log_d((double_of(one[j]) + 1) * 0x1p-32));
    out[j] = radius * cos_of_turn(two[j]);
  }
}

}  // namespace
}  // namespace plait::cpu
