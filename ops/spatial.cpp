// Images and sliding windows: layouts, sizes, and both directions of the index map.
#include "ops/spatial.h"

#include <numeric>

#include "ops/infer.h"

namespace plait::ops {
namespace {

void want_pair(const NodeView& v, std::string_view name, const Sizes& pair) {
  if (pair.size() != 2 || pair[0] < 1 || pair[1] < 1) {
    v.fail(name, " must be two numbers of at least 1 (height, width), given ", shape_text(pair));
  }
}

void want_fit(const NodeView& v, const Window& window, const Dim& length, std::string_view axis) {
  if (window.count(length).lo() >= 1) return;
  const std::string least = length.is_const() ? "" : str(" (at least ", length.lo(), ")");
  v.fail("a window that reaches over ", window.reach(), least.empty() ? " does" : " may",
         " not fit into ", axis, " ", length, least, " padded by ", window.before, " and ",
         window.after, ": ", v.operand_text());
}

}  // namespace

bool is_nhwc(const NodeView& v, const std::string& layout) {
  if (layout != "NCHW" && layout != "NHWC") {
    v.fail("layout must be \"NCHW\" or \"NHWC\", given \"", layout, "\"");
  }
  return layout == "NHWC";
}

Image image_of(const Shape& shape, bool nhwc) {
  if (nhwc) return {shape[0], shape[3], shape[1], shape[2]};
  return {shape[0], shape[1], shape[2], shape[3]};
}

std::vector<Dim> laid_out(const Image& image, bool nhwc) {
  if (nhwc) return {image.n, image.h, image.w, image.c};
  return {image.n, image.c, image.h, image.w};
}

Image add_image(loop::Nest& nest, const Image& extents, bool nhwc, std::string_view names) {
  const std::string order = nhwc ? str(names[0], names[2], names[3], names[1]) : std::string(names);
  const std::vector<Dim> sizes = laid_out(extents, nhwc);
  std::vector<Dim> index;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    index.push_back(add_index(nest, std::string(1, order[i]), sizes[i]));
  }
  return image_of(index, nhwc);
}

Dim Window::count(const Dim& length) const {
  const Dim room = length + before + after - reach();
  if (!ceil) return plait::floordiv(room, stride) + 1;
  return plait::min(plait::ceildiv(room, stride), plait::floordiv(length + before - 1, stride)) + 1;
}

std::vector<loop::Guard> Window::inside(const Dim& source, const Dim& length) const {
  if (before == 0 && after == 0 && !ceil) return {};
  return {{source, 0, length}};
}

Windows windows_of(const NodeView& v, const Dim& kh, const Dim& kw, const Sizes& stride,
                   const Sizes& padding, const Sizes& dilation) {
  want_pair(v, "stride", stride);
  want_pair(v, "dilation", dilation);
  bool good = padding.size() == 2 || padding.size() == 4;
  for (std::int64_t p : padding) good &= p >= 0;
  if (!good) {
    v.fail("padding must be [h,w] or [top,bottom,left,right] of at least 0, given ",
           shape_text(padding));
  }
  const bool two = padding.size() == 2;
  return {
      {kh, stride[0], padding[0], two ? padding[0] : padding[1], dilation[0]},
      {kw, stride[1], two ? padding[1] : padding[2], two ? padding[1] : padding[3], dilation[1]}};
}

Image slide(const NodeView& v, const Windows& windows, Image image) {
  want_fit(v, windows.h, image.h, "height");
  want_fit(v, windows.w, image.w, "width");
  image.h = windows.h.count(image.h);
  image.w = windows.w.count(image.w);
  return image;
}

void want_size(const NodeView& v, std::string_view name, const Shape& size) {
  if (size.size() != 2 || size[0].lo() < 1 || size[1].lo() < 1) {
    v.fail(name, " must be two sizes of at least 1 (height, width), given ", shape_text(size));
  }
}

Readers readers_of(loop::Nest& nest, const std::string& name, const Window& window, const Dim& at,
                   const Dim& count) {
  // by * stride + tap * dilation = at + before. Modulo the stride this fixes the tap: with
  // g = gcd(stride, dilation), tap = (at + before) / g * inverse(dilation / g) modulo stride / g.
  const std::int64_t g = std::gcd(window.stride, window.dilation);
  const std::int64_t cycle = window.stride / g, pace = window.dilation / g;
  std::int64_t inverse = 0;
  while (inverse < cycle && inverse * pace % cycle != 1 % cycle) ++inverse;

  const Dim padded = at + window.before;
  const Dim first = plait::mod(plait::floordiv(padded, g) * Dim(inverse), cycle);
  const Dim t = add_index(nest, name, plait::ceildiv(window.taps, cycle), true);
  Readers r;
  r.tap = first + t * Dim(cycle);
  const Dim first_by = pace == 1
                           ? plait::floordiv(padded, window.stride)
                           : plait::floordiv(padded - first * Dim(window.dilation), window.stride);
  r.by = first_by - t * Dim(pace);
  if (!plait::mod(window.taps, cycle).is(0)) r.tap_exists = {{r.tap, 0, window.taps}};
  if (g > 1) r.by_exists.push_back({plait::mod(padded, g), 0, 1});
  r.by_exists.push_back({r.by, 0, count});
  return r;
}

}  // namespace plait::ops
