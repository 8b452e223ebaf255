// A convolution of three by three taps, one pixel apart, found again in a Problem: where its image
// lies, where its window begins, and which axes are pixels, taps and channels.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/contract/problem.h"
#include "base/error.h"

namespace plait::cpu {

/// Image coordinates are the Problem's own; pixel (h, w) of image i lies at
/// origin + image_offset(i) + h * row_step + w * col_step, channels next to each other. The window
/// of result (y, x) begins at pixel (top + stride * y, left + stride * x).
struct Stencil {
  std::vector<Axis> images;                             // outermost first; may be empty
  Axis high, wide;                                      // the pixels of one image of results
  Axis tap_high, tap_wide;                              // the window
  Axis channel;                                         // of the image
  std::int64_t top = 0, left = 0;                       // the window's corner for pixel (0, 0)
  std::int64_t row0 = 0, row1 = 0, col0 = 0, col1 = 0;  // pixels outside of these are 0
  std::int64_t origin = 0, row_step = 0, col_step = 0;
  std::int64_t stride = 1;  // or 2
  std::int64_t image_count() const;
  /// How far image i is moved in an operand.
  std::int64_t image_offset(std::int64_t i, std::int64_t Axis::*step) const;
  bool flip_high = false, flip_wide = false;  // the first place of the window is the last tap
  std::int64_t tap_row(std::int64_t place) const { return flip_high ? 2 - place : place; }
  std::int64_t tap_col(std::int64_t place) const { return flip_wide ? 2 - place : place; }
};

/// `pixels` and `window` are the two lists of axes that move A: m and k of a convolution, k and m
/// of its weight gradient. Says why when it is not such a convolution.
Decision find_stencil(const Problem& problem, const std::vector<Axis>& pixels,
                      const std::vector<Axis>& window, Stencil& out);

}  // namespace plait::cpu
