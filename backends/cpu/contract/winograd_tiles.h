// What both directions of Winograd share: sizes, and a tile's pixels by their addresses.
#pragma once

#include <algorithm>

#include "backends/cpu/contract/sizes.h"
#include "backends/cpu/contract/stencil.h"
#include "backends/cpu/contract/winograd.h"

namespace plait::cpu {

inline constexpr std::int64_t kNumbers = 36, kTile = 4, kWindow = 6;

inline std::int64_t in_lines(std::int64_t floats) { return round_up(floats, 16); }
/// An odd number of lines: rows, or planes, that far apart fall into all sets of a cache in turn.
inline std::int64_t spread_row(std::int64_t floats) { return (ceil_div(floats, 16) | 1) * 16; }

/// The 6x6 pixels under tile (row, col) of an image; outside of it they are at `zeros`.
inline void point_at_pixels(const Stencil& s, const float* image, std::int64_t row,
                            std::int64_t col, const float* zeros, const float** out) {
  const std::int64_t h = s.top + row * kTile, w = s.left + col * kTile;
  const std::int64_t at = h * s.high.a + w * s.wide.a;
  if (h >= s.row0 && h + kWindow <= s.row1 && w >= s.col0 && w + kWindow <= s.col1) {
    for (std::int64_t i = 0; i < kWindow; ++i) {
      for (std::int64_t j = 0; j < kWindow; ++j) {
        out[i * kWindow + j] = image + at + i * s.high.a + j * s.wide.a;
      }
    }
    return;
  }
  for (std::int64_t i = 0; i < kWindow; ++i) {
    const bool in_rows = h + i >= s.row0 && h + i < s.row1;
    for (std::int64_t j = 0; j < kWindow; ++j) {
      const bool inside = in_rows && w + j >= s.col0 && w + j < s.col1;
      out[i * kWindow + j] = inside ? image + (at + i * s.high.a + j * s.wide.a) : zeros;
    }
  }
}

std::unique_ptr<const Work> make_winograd_forward(const Problem& problem, const Variant& variant,
                                                  const Kernels& kernels);
std::unique_ptr<const Work> make_winograd_weights(const Problem& problem, const Variant& variant,
                                                  const Kernels& kernels);

}  // namespace plait::cpu
