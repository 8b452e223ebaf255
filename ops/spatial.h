// Images and the windows that slide over them: what convolution, pooling and resizing share. No ops
// here. An image has four axes in one of two layouts; a window is described per spatial axis.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace plait::ops {

/// Sizes or indices of an image by meaning, whatever its layout. Convolution weights are one too:
/// n counts output channels, c the input channels of a group, h and w the taps.
struct Image {
  Dim n, c, h, w;
};

/// Whether `layout` is NHWC; UserError unless it is that or NCHW.
bool is_nhwc(const NodeView& v, const std::string& layout);
Image image_of(const Shape& shape, bool nhwc);
/// In the order of the layout: a shape, or the indices of a load.
std::vector<Dim> laid_out(const Image& image, bool nhwc);
/// Index variables for every axis of the output, in its order; `names` are those of n, c, h, w.
Image add_image(loop::Nest& nest, const Image& extents, bool nhwc, std::string_view names);

/// A window along one spatial axis.
struct Window {
  Dim taps;
  std::int64_t stride = 1, before = 0, after = 0, dilation = 1;
  bool ceil = false;  // one more window where it starts inside (or in `before`) and ends outside

  /// From the first tap to the last, both counted.
  Dim reach() const { return (taps - 1) * Dim(dilation) + 1; }
  /// How many windows there are along an axis of this length.
  Dim count(const Dim& length) const;
  /// What tap `tap` of window `at` reads; outside the image where it stands on padding.
  Dim source(const Dim& at, const Dim& tap) const {
    return at * Dim(stride) + tap * Dim(dilation) - before;
  }
  /// What must hold for source() to be inside; empty where it always is.
  std::vector<loop::Guard> inside(const Dim& source, const Dim& length) const;
};

struct Windows {
  Window h, w;
};

/// Checks the attributes: two strides and dilations, paddings (h, w) or (top, bottom, left, right).
Windows windows_of(const NodeView& v, const Dim& kh, const Dim& kw, const Sizes& stride,
                   const Sizes& padding, const Sizes& dilation);
/// Where the windows of an image stand: its h and w become counts. UserError where one may not fit.
Image slide(const NodeView& v, const Windows& windows, Image image);
/// UserError unless `size` is two sizes of at least 1.
void want_size(const NodeView& v, std::string_view name, const Shape& size);

/// The other way round: who reads position `at` of an axis. Tap `tap` of window `by` does, at every
/// value of a new reduced index and wherever the guards hold.
struct Readers {
  Dim tap, by;
  std::vector<loop::Guard> tap_exists, by_exists;
};
/// `count` windows read the axis. Only taps that can read `at` at all are walked: they are those of
/// one remainder modulo the stride.
Readers readers_of(loop::Nest& nest, const std::string& name, const Window& window, const Dim& at,
                   const Dim& count);

template <class T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace plait::ops
