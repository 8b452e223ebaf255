// Products on tile registers: 32 x 32 of the result in four tiles, operands of 16 bits. An f16 is
// split into two bf16 whose sum it is and an f32 into three; then products of parts are summed.
#pragma once

#include <iterator>

#include "backends/cpu/contract/ahead.h"
#include "backends/cpu/contract/half_kernels.h"
#include "backends/cpu/contract/tiles.h"
#include "backends/cpu/contract/unrolled.h"

namespace plait::cpu {
namespace {

/// Half of a step of b, 1 KB: panels follow each other, so it may be of the next one.
inline void ask_for(const std::uint16_t* b) {
  for (int line = 0; line < 16; ++line) __builtin_prefetch(b + line * 32);
}

/// Which part of a is multiplied by which of b, in an order in which one of the two stays. Of three
/// parts the products of the low ones are left out, which are below a 2^25th of the whole.
struct PartPair {
  int a, b;
};
template <int kParts>
inline constexpr PartPair kPairs[1] = {{0, 0}};
template <>
inline constexpr PartPair kPairs<2>[4] = {{0, 1}, {0, 0}, {1, 0}, {1, 1}};
template <>
inline constexpr PartPair kPairs<3>[6] = {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {0, 0}, {2, 0}};

/// 16 or 32 rows and columns: tiles 1 and 3 are the right ones, 2 and 3 the lower ones. What the
/// next four products read is loaded between these, each tile after the last that reads what it
/// held: where two threads share a core, loads next to their products take 1.4 times as long.
template <class Tiles, int kParts, bool kRight, bool kLower>
void tile_product(const BlockArgs& args, const std::uint16_t* a, const std::uint16_t* b, float* c) {
  constexpr std::int64_t kHalf = 16, kFull = 32;
  constexpr std::int64_t b_row = kFull * 2 * 2;  // bytes of 32 columns in pairs
  constexpr int kCount = static_cast<int>(std::size(kPairs<kParts>));
  static_assert(kCount == products_of_parts(kParts));
  constexpr PartPair kFirst = kPairs<kParts>[0];
  const std::int64_t a_row = args.row_step * 2, c_row = args.ldc * 4;
  float* lower = c + kHalf * args.ldc;
  if (args.add) {
    Tiles::template load<0>(c, c_row);
    if constexpr (kRight) Tiles::template load<1>(c + kHalf, c_row);
    if constexpr (kLower) Tiles::template load<2>(lower, c_row);
    if constexpr (kRight && kLower) Tiles::template load<3>(lower + kHalf, c_row);
  } else {
    Tiles::template zero<0>();
    Tiles::template zero<1>();
    Tiles::template zero<2>();
    Tiles::template zero<3>();
  }
  const auto a_at = [&](int part, std::int64_t k) {
    return a + part * args.a_part + (args.k_at ? args.k_at[k / kPairDepth] : k);
  };
  const auto b_at = [&](int part, std::int64_t k) { return b + part * args.b_part + k * kFull; };
  if (args.k > 0) {
    Tiles::template load<4>(a_at(kFirst.a, 0), a_row);
    Tiles::template load<6>(b_at(kFirst.b, 0), b_row);
    if constexpr (kLower) {
      Tiles::template load<5>(a_at(kFirst.a, 0) + kHalf * args.row_step, a_row);
    }
    if constexpr (kRight) Tiles::template load<7>(b_at(kFirst.b, 0) + kFull, b_row);
  }
  for (std::int64_t k = 0; k < args.k; k += kPairDepth) {
    each<kCount>([&](auto i) __attribute__((always_inline)) {
      constexpr bool kLast = i + 1 == kCount;
      constexpr PartPair now = kPairs<kParts>[i], next = kPairs<kParts>[kLast ? 0 : i + 1];
      constexpr bool kNewA = kLast || next.a != now.a, kNewB = kLast || next.b != now.b;
      const std::int64_t then = kLast ? k + kPairDepth : k;
      const bool more = !kLast || then < args.k;
      const std::uint16_t* const next_a = a_at(next.a, more ? then : 0);
      const std::uint16_t* const next_b = b_at(next.b, then);
      if constexpr (kNewB) ask_for(next_b + kPairDepth * kFull);
      Tiles::template multiply<0>();
      if constexpr (kRight) Tiles::template multiply<1>();
      if (kNewA && more) Tiles::template load<4>(next_a, a_row);
      if constexpr (kLower) Tiles::template multiply<2>();
      if (kNewB && more) Tiles::template load<6>(next_b, b_row);
      if constexpr (kNewB) ask_for(next_b + kPairDepth * kFull + kPairDepth * kHalf);
      if constexpr (kRight && kLower) Tiles::template multiply<3>();
      if constexpr (kLower) {
        if (kNewA && more) Tiles::template load<5>(next_a + kHalf * args.row_step, a_row);
      }
      if constexpr (kRight) {
        if (kNewB && more) Tiles::template load<7>(next_b + kFull, b_row);
      }
    });
  }
  Tiles::template store<0>(c, c_row);
  if constexpr (kRight) Tiles::template store<1>(c + kHalf, c_row);
  if constexpr (kLower) Tiles::template store<2>(lower, c_row);
  if constexpr (kRight && kLower) Tiles::template store<3>(lower + kHalf, c_row);
}

/// The form of it for what is left of the rows and the columns.
template <class Tiles, int kParts>
void tile_part(const BlockArgs& args, bool right, bool lower, const std::uint16_t* a,
               const std::uint16_t* b, float* c) {
  if (right && lower) return tile_product<Tiles, kParts, true, true>(args, a, b, c);
  if (right) return tile_product<Tiles, kParts, true, false>(args, a, b, c);
  if (lower) return tile_product<Tiles, kParts, false, true>(args, a, b, c);
  tile_product<Tiles, kParts, false, false>(args, a, b, c);
}

/// Rows by 32 outside, panels of b inside: the rows' part of a stays in the nearest cache. C is
/// always padded here, since 16-bit results never go to C directly.
template <class Tiles>
void tile_block(const BlockArgs& args) {
  constexpr std::int64_t kHalf = 16, kFull = 32;
  int configured = 0;
  AheadWalk ahead(args.next, ((args.rows + kFull - 1) / kFull) * ((args.cols + kFull - 1) / kFull));
  for (std::int64_t row = 0; row < args.rows; row += kFull) {
    const std::int64_t left = args.rows - row;
    const int height = static_cast<int>(left < kFull ? left : kFull);
    if (height != configured) {
      Tiles::configure(height < kHalf ? height : kHalf, height > kHalf ? height - kHalf : 0);
      configured = height;
    }
    const std::uint16_t* a = static_cast<const std::uint16_t*>(args.a) + row * args.row_step;
    const std::uint16_t* b = static_cast<const std::uint16_t*>(args.b);
    for (std::int64_t col = 0; col < args.cols; col += kFull, b += args.panel_step) {
      ahead.some();
      float* c = args.c + row * args.ldc + col;
      const bool right = args.cols - col > kHalf, lower = height > kHalf;
      if (args.parts == 3) {
        tile_part<Tiles, 3>(args, right, lower, a, b, c);
      } else if (args.parts == 2) {
        tile_part<Tiles, 2>(args, right, lower, a, b, c);
      } else {
        tile_part<Tiles, 1>(args, right, lower, a, b, c);
      }
    }
  }
}

}  // namespace
}  // namespace plait::cpu
