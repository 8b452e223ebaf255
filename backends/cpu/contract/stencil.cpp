// Finding a convolution of three by three in a Problem.
#include "backends/cpu/contract/stencil.h"

#include <cstdlib>

namespace plait::cpu {
namespace {

/// The window axis that moves as the pixel axis does, one pixel where that moves `stride`; null
/// when there is none.
const Axis* tap_for(const std::vector<Axis>& window, const Axis& pixel, std::int64_t stride,
                    const Axis* other) {
  for (const Axis& x : window) {
    if (&x != other && x.extent == 3 && stride * std::abs(x.a) == pixel.a &&
        stride * std::abs(x.h) == pixel.h && stride * std::abs(x.w) == pixel.w) {
      return &x;
    }
  }
  return nullptr;
}

}  // namespace

std::int64_t Stencil::image_count() const {
  std::int64_t count = 1;
  for (const Axis& x : images) count *= x.extent;
  return count;
}

std::int64_t Stencil::image_offset(std::int64_t i, std::int64_t Axis::*step) const {
  std::int64_t offset = 0;
  for (auto x = images.rbegin(); x != images.rend(); ++x) {
    offset += i % x->extent * ((*x).*step);
    i /= x->extent;
  }
  return offset;
}

Decision find_stencil(const Problem& p, const std::vector<Axis>& pixels,
                      const std::vector<Axis>& window, Stencil& s) {
  const Decision no = Decision::forbid("it is not a convolution of 3x3 with stride 1 or 2");
  for (const Axis& x : p.batch) {
    if (x.extent != 1) return Decision::forbid("it is grouped");
  }
  if (pixels.size() < 2 || window.size() != 3) return no;
  s.images.assign(pixels.begin(), pixels.end() - 2);
  s.high = pixels[pixels.size() - 2];
  s.wide = pixels.back();
  for (const Axis& x : s.images) {
    if (x.h != 0 || x.w != 0) return no;
  }
  if (s.high.a <= 0 || s.wide.a <= 0) return no;
  const Axis *tap_high = nullptr, *tap_wide = nullptr;
  for (s.stride = 1; s.stride <= 2; ++s.stride) {
    tap_high = tap_for(window, s.high, s.stride, nullptr);
    tap_wide = tap_for(window, s.wide, s.stride, tap_high);
    if (tap_high != nullptr && tap_wide != nullptr) break;
  }
  if (s.stride > 2) return no;
  if (p.guarded && (s.high.h != s.stride || s.high.w != 0 || s.wide.w != s.stride || s.wide.h != 0))
    return no;
  s.tap_high = *tap_high;
  s.tap_wide = *tap_wide;
  for (const Axis& x : window) {
    if (&x != tap_high && &x != tap_wide) s.channel = x;
  }
  if (s.channel.a != 1 || s.channel.h != 0 || s.channel.w != 0) {
    return Decision::forbid("the channels of its image are not next to each other");
  }
  s.flip_high = s.tap_high.a < 0;
  s.flip_wide = s.tap_wide.a < 0;
  s.top = p.h0 - (s.flip_high ? 2 : 0);
  s.left = p.w0 - (s.flip_wide ? 2 : 0);
  s.row0 = p.guarded ? 0 : s.top;
  s.row1 = p.guarded ? p.height : s.top + (s.high.extent - 1) * s.stride + 3;
  s.col0 = p.guarded ? 0 : s.left;
  s.col1 = p.guarded ? p.width : s.left + (s.wide.extent - 1) * s.stride + 3;
  s.row_step = std::abs(s.tap_high.a);
  s.col_step = std::abs(s.tap_wide.a);
  s.origin = p.a0 - p.h0 * s.row_step - p.w0 * s.col_step;
  return Decision::allow();
}

}  // namespace plait::cpu
