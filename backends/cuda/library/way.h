// One direction in which pixels and taps walk an image. Private to convolution.cpp.
#pragma once

#include "backends/cuda/library/convolution.h"
#include "backends/cuda/library/matrix.h"

namespace plait::cuda {

/// One direction: an axis of one point is not there.
struct Way {
  BoundAxis pixel, tap;
  bool guarded = false;
  std::int64_t start = 0, size = 0;  // the image coordinate of the origin; the image's size
  std::int64_t pitch = 0;            // from one image element to the next
  std::int64_t stride = 1, dilation = 1;
  bool flipped = false;
};

/// Image elements from the first to the last that is read, without padding.
std::int64_t reach(const Way& way);

/// The direction of a convolution whose x is the image; `base` moves to where the image begins.
/// `natural`: the image's size by its strides; 0: not known.
Decision walk_x(const Way& way, std::int64_t natural, Direction& direction, std::int64_t& base);

/// The image is y and the result x, with stride 1: x[i] = sum of y[i + before - t * dilation].
Decision walk_y(const Way& way, std::int64_t natural, Direction& direction, std::int64_t& base);

}  // namespace plait::cuda
