// Sizes and padding along one direction.
#include "backends/cuda/library/way.h"

#include <algorithm>

namespace plait::cuda {

std::int64_t reach(const Way& way) {
  return way.stride * (way.pixel.extent - 1) + way.dilation * (way.tap.extent - 1) + 1;
}

Decision walk_x(const Way& way, std::int64_t natural, Direction& d, std::int64_t& base) {
  d.y = way.pixel.extent;
  d.taps = way.tap.extent;
  d.stride = way.stride;
  d.dilation = way.dilation;
  d.x = way.guarded ? way.size : std::max(natural, reach(way));
  std::int64_t start = way.start;
  if (start > 0) {
    d.x -= start;
    start = 0;
  } else {
    base -= start * way.pitch;
  }
  d.before = -start;
  const std::int64_t end = start + reach(way);  // the first element that no tap reads
  const auto positions = [&](std::int64_t after) {
    return (d.x + d.before + after - d.dilation * (d.taps - 1) - 1) / d.stride + 1;
  };
  const std::int64_t least = std::max<std::int64_t>(0, end - d.x);
  d.after = d.before >= least && positions(d.before) == d.y ? d.before : least;
  if (positions(d.after) != d.y) d.x = end;
  if (d.x < 1 || end < 1) return Decision::forbid("all of it is padding");
  return Decision::allow();
}

Decision walk_y(const Way& way, std::int64_t natural, Direction& d, std::int64_t& base) {
  d.x = way.pixel.extent;
  d.taps = way.tap.extent;
  d.dilation = way.dilation;
  if (way.stride != 1) return Decision::forbid("its gradient is strided");
  const std::int64_t window = d.dilation * (d.taps - 1);
  d.before = way.guarded ? way.start : window;
  d.y = way.guarded ? way.size : std::max(natural, reach(way));
  base -= d.before * way.pitch;
  d.after = d.y - d.x - d.before + window;
  if (d.before < 0 || d.after < 0) return Decision::forbid("its padding is wider than its taps");
  return Decision::allow();
}

}  // namespace plait::cuda
