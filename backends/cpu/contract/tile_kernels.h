// Products on tile registers: 32 x 32 of the result in four tiles, operands of 16 bits. An f16
// operand is split into two bf16 whose sum it is; the engine multiplies every pair of parts.
#pragma once

#include "backends/cpu/contract/ahead.h"
#include "backends/cpu/contract/half_kernels.h"
#include "backends/cpu/contract/tiles.h"

namespace plait::cpu {
namespace {

/// Where the step that begins at k lies in a row of a.
inline std::int64_t a_at(const BlockArgs& args, std::int64_t k) {
  return args.k_at ? args.k_at[k / kPairDepth] : k;
}

/// Half of b's next step but one, 1 KB: panels follow each other, so it may be of the next one.
inline void ask_for(const std::uint16_t* b) {
  for (int line = 0; line < 16; ++line) __builtin_prefetch(b + line * 32);
}

/// 16 or 32 rows and columns: tiles 1 and 3 are the right ones, 2 and 3 the lower ones. The tiles of
/// a step are loaded between the products of the step before, each after the last that reads what
/// it held: where two threads share a core, loads next to their products take 1.4 times as long.
template <class Tiles, bool kRight, bool kLower>
void tile_product(const BlockArgs& args, const std::uint16_t* a, const std::uint16_t* b, float* c) {
  constexpr std::int64_t kHalf = 16, kFull = 32;
  constexpr std::int64_t b_row = kFull * 2 * 2;  // bytes of 32 columns in pairs
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
  const auto load_upper_left = [&](std::int64_t k) {
    Tiles::template load<4>(a + a_at(args, k), a_row);
    Tiles::template load<6>(b + k * kFull, b_row);
  };
  const auto load_lower_right = [&](std::int64_t k) {
    if constexpr (kLower) Tiles::template load<5>(a + a_at(args, k) + kHalf * args.row_step, a_row);
    if constexpr (kRight) Tiles::template load<7>(b + k * kFull + kFull, b_row);
  };
  const auto multiply_all_but_last = [] {
    Tiles::template multiply<0>();
    if constexpr (kRight) Tiles::template multiply<1>();
    if constexpr (kLower) Tiles::template multiply<2>();
  };
  if (args.k > 0) {
    load_upper_left(0);
    load_lower_right(0);
  }
  for (std::int64_t k = 0; k < args.k; k += kPairDepth) {
    const bool is_last = k + kPairDepth >= args.k;
    ask_for(b + (k + 2 * kPairDepth) * kFull);
    multiply_all_but_last();
    if (!is_last) load_upper_left(k + kPairDepth);
    ask_for(b + (k + 2 * kPairDepth) * kFull + kPairDepth * kHalf);
    if constexpr (kRight && kLower) Tiles::template multiply<3>();
    if (!is_last) load_lower_right(k + kPairDepth);
  }
  Tiles::template store<0>(c, c_row);
  if constexpr (kRight) Tiles::template store<1>(c + kHalf, c_row);
  if constexpr (kLower) Tiles::template store<2>(lower, c_row);
  if constexpr (kRight && kLower) Tiles::template store<3>(lower + kHalf, c_row);
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
      if (right && lower) {
        tile_product<Tiles, true, true>(args, a, b, c);
      } else if (right) {
        tile_product<Tiles, true, false>(args, a, b, c);
      } else if (lower) {
        tile_product<Tiles, false, true>(args, a, b, c);
      } else {
        tile_product<Tiles, false, false>(args, a, b, c);
      }
    }
  }
}

}  // namespace
}  // namespace plait::cpu
