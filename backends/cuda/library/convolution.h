// A contraction as a convolution or one of its two gradients: sizes, padding, and where each tensor
// lies. No library is needed to find out.
#pragma once

#include <array>
#include <cstdint>

#include "base/error.h"
#include "loop/contraction.h"

namespace plait::cuda {

/// y[p] = sum over taps t of x[p * stride + t * dilation - before] * w[t], along one direction.
struct Direction {
  std::int64_t x = 1, y = 1, taps = 1;
  std::int64_t stride = 1, dilation = 1;
  std::int64_t before = 0, after = 0;  // padding
};

/// An offset and strides, elements: images, channels, high, wide; of weights: channels of y,
/// channels of x, taps high, taps wide.
struct Placed {
  std::int64_t offset = 0;
  std::array<std::int64_t, 4> sizes{1, 1, 1, 1};
  std::array<std::int64_t, 4> strides{1, 1, 1, 1};
};

/// Which operand of the contraction is which tensor: A, B, C are x, w, y for kForward; y, w, x for
/// kData; x, y, w for kFilter.
struct Convolution {
  enum Kind { kForward, kData, kFilter };
  Kind kind = kForward;
  Direction high, wide;
  Placed x, w, y;
};

Decision find_convolution(const loop::BoundContraction& contraction, Convolution& convolution);

}  // namespace plait::cuda
