// Pooling and resizing with plain loops over NCHW; NHWC is transposed before and after. What the
// ops gather is scattered here.
#include <cmath>
#include <limits>

#include "ops/pool.h"
#include "ops/resize.h"
#include "tests/ops/oracle.h"

namespace plait {
namespace {

using Inputs = std::vector<const Array*>;

/// [N,H,W,C] to [N,C,H,W], or back.
Array swapped(const Array& from, bool back) {
  const Sizes s = from.sizes();
  const std::int64_t channels = back ? s[1] : s[3];
  const std::int64_t pixels = back ? s[2] * s[3] : s[1] * s[2];
  Array to(from.dtype(), back ? Sizes{s[0], s[2], s[3], s[1]} : Sizes{s[0], s[3], s[1], s[2]});
  for (std::int64_t n = 0; n < s[0]; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t p = 0; p < pixels; ++p) {
        const std::int64_t first = (n * channels + c) * pixels + p;
        const std::int64_t last = (n * pixels + p) * channels + c;
        to.set(back ? last : first, from.real(back ? first : last));
      }
    }
  }
  return to;
}

/// An op on NCHW arrays as an oracle for both layouts; `core` fills its last argument.
template <class Attrs, auto core>
std::vector<Array> in_layout(const NodeView& node, const Inputs& in) {
  const auto a = node.as<Attrs>();
  const bool nhwc = a.layout == "NHWC";
  std::vector<Array> images;
  for (const Array* i : in) images.push_back(nhwc ? swapped(*i, false) : *i);
  const DType dtype = is_float(node.out().dtype) ? DType::f64 : node.out().dtype;
  Sizes s = sizes_of(node.out().shape);
  if (nhwc) s = {s[0], s[3], s[1], s[2]};
  Array out(dtype, s);
  core(a, images, out);
  return {nhwc ? swapped(out, true) : out};
}

std::int64_t offset(const Array& a, std::int64_t plane, std::int64_t h, std::int64_t w) {
  return (plane * a.sizes()[2] + h) * a.sizes()[3] + w;
}

struct Tap {
  std::int64_t plane;        // n * C + c
  std::int64_t window;       // offset in the pooled image
  std::int64_t position;     // in the window
  std::int64_t row, column;  // in the image; outside it on padding
  bool inside;
};

/// Calls f for every tap of every window, windows in order and taps in order in them.
template <class Attrs, class F>
void each_tap(const Attrs& a, const Sizes& dilation, const Array& image, const Array& pooled, F f) {
  const Sizes& stride = a.stride.empty() ? a.kernel : a.stride;
  const std::int64_t top = a.padding[0], left = a.padding[a.padding.size() == 2 ? 1 : 2];
  const Sizes& s = pooled.sizes();
  for (std::int64_t plane = 0; plane < s[0] * s[1]; ++plane) {
    for (std::int64_t h = 0; h < s[2]; ++h) {
      for (std::int64_t w = 0; w < s[3]; ++w) {
        for (std::int64_t i = 0; i < a.kernel[0] * a.kernel[1]; ++i) {
          const std::int64_t row = h * stride[0] - top + i / a.kernel[1] * dilation[0];
          const std::int64_t column = w * stride[1] - left + i % a.kernel[1] * dilation[1];
          const bool inside =
              row >= 0 && row < image.sizes()[2] && column >= 0 && column < image.sizes()[3];
          f(Tap{plane, offset(pooled, plane, h, w), i, row, column, inside});
        }
      }
    }
  }
}

using Images = std::vector<Array>;

void max_pool(const ops::MaxPool2d& a, const Images& in, Array& y) {
  for (double& v : y.as<double>()) v = -std::numeric_limits<double>::infinity();
  each_tap(a, a.dilation, in[0], y, [&](const Tap& t) {
    if (!t.inside) return;
    double& best = y.as<double>()[t.window];
    const double x = in[0].real(offset(in[0], t.plane, t.row, t.column));
    if (x > best || std::isnan(x)) best = x;
  });
}

void max_pool_arg(const ops::MaxPool2d& a, const Images& in, Array& arg) {
  const std::int64_t none = a.kernel[0] * a.kernel[1];
  for (std::int64_t i = 0; i < arg.count(); ++i) arg.set_integer(i, none);
  each_tap(a, a.dilation, in[0], arg, [&](const Tap& t) {
    if (!t.inside || arg.integer(t.window) != none) return;
    const double x = in[0].real(offset(in[0], t.plane, t.row, t.column));
    if (x >= in[1].real(t.window)) arg.set_integer(t.window, t.position);
  });
}

void max_pool_take(const ops::MaxPool2d& a, const Images& in, Array& y) {
  each_tap(a, a.dilation, in[0], y, [&](const Tap& t) {
    if (!t.inside || in[1].integer(t.window) != t.position) return;
    y.as<double>()[t.window] = in[0].real(offset(in[0], t.plane, t.row, t.column));
  });
}

void max_unpool(const ops::MaxUnpool2d& a, const Images& in, Array& dx) {
  each_tap(a, a.dilation, dx, in[0], [&](const Tap& t) {
    if (!t.inside || in[1].integer(t.window) != t.position) return;
    dx.as<double>()[offset(dx, t.plane, t.row, t.column)] += in[0].real(t.window);
  });
}

/// Per window, what its sum is divided by: taps that are inside, or inside the padded image.
std::vector<double> divisors(const ops::AvgPool2d& a, const Array& image, const Array& pooled) {
  const std::size_t two = a.padding.size() == 2;
  const std::int64_t bottom = image.sizes()[2] + a.padding[two ? 0 : 1];
  const std::int64_t right = image.sizes()[3] + a.padding[two ? 1 : 3];
  std::vector<double> count(static_cast<std::size_t>(pooled.count()));
  each_tap(a, {1, 1}, image, pooled, [&](const Tap& t) {
    const bool padded = t.row < bottom && t.column < right;
    if (a.count_include_pad ? padded : t.inside) ++count[static_cast<std::size_t>(t.window)];
  });
  return count;
}

void avg_pool(const ops::AvgPool2d& a, const Images& in, Array& y) {
  each_tap(a, {1, 1}, in[0], y, [&](const Tap& t) {
    if (t.inside) {
      y.as<double>()[t.window] += in[0].real(offset(in[0], t.plane, t.row, t.column));
    }
  });
  const std::vector<double> count = divisors(a, in[0], y);
  for (std::size_t i = 0; i < count.size(); ++i) y.as<double>()[i] /= count[i];
}

void avg_pool_grad(const ops::AvgPool2dGrad& a, const Images& in, Array& dx) {
  const std::vector<double> count = divisors(a, dx, in[0]);
  each_tap(a, {1, 1}, dx, in[0], [&](const Tap& t) {
    if (!t.inside) return;
    dx.as<double>()[offset(dx, t.plane, t.row, t.column)] +=
        in[0].real(t.window) / count[static_cast<std::size_t>(t.window)];
  });
}

void global_avg(const ops::GlobalPool2d&, const Images& in, Array& y) {
  const std::int64_t pixels = in[0].sizes()[2] * in[0].sizes()[3];
  for (std::int64_t i = 0; i < in[0].count(); ++i) {
    y.as<double>()[i / pixels] += in[0].real(i) / static_cast<double>(pixels);
  }
}

void global_max(const ops::GlobalPool2d&, const Images& in, Array& y) {
  const std::int64_t pixels = in[0].sizes()[2] * in[0].sizes()[3];
  for (std::int64_t i = 0; i < in[0].count(); ++i) {
    double& best = y.as<double>()[i / pixels];
    best = i % pixels == 0 ? in[0].real(i) : std::max(best, in[0].real(i));
  }
}

/// Calls f(offset in the resized image, offset of the original's pixel that is shown there).
template <class F>
void each_pixel(const Array& resized, const Array& original, F f) {
  const Sizes &to = resized.sizes(), &from = original.sizes();
  for (std::int64_t plane = 0; plane < to[0] * to[1]; ++plane) {
    for (std::int64_t h = 0; h < to[2]; ++h) {
      for (std::int64_t w = 0; w < to[3]; ++w) {
        f(offset(resized, plane, h, w),
          offset(original, plane, h * from[2] / to[2], w * from[3] / to[3]));
      }
    }
  }
}

void resize(const ops::Resize&, const Images& in, Array& y) {
  each_pixel(y, in[0], [&](auto to, auto from) { y.set(to, in[0].real(from)); });
}

void resize_grad(const ops::Resize&, const Images& in, Array& dx) {
  each_pixel(in[0], dx, [&](auto at, auto shown) { dx.as<double>()[shown] += in[0].real(at); });
}

}  // namespace

std::vector<Oracle> pool_oracles() {
  return {{"max_pool2d", in_layout<ops::MaxPool2d, max_pool>},
          {"max_pool2d_arg", in_layout<ops::MaxPool2d, max_pool_arg>},
          {"max_pool2d_take", in_layout<ops::MaxPool2d, max_pool_take>},
          {"max_unpool2d", in_layout<ops::MaxUnpool2d, max_unpool>},
          {"avg_pool2d", in_layout<ops::AvgPool2d, avg_pool>},
          {"avg_pool2d_grad", in_layout<ops::AvgPool2dGrad, avg_pool_grad>},
          {"global_avg_pool2d", in_layout<ops::GlobalPool2d, global_avg>},
          {"global_max_pool2d", in_layout<ops::GlobalPool2d, global_max>},
          {"resize_nearest", in_layout<ops::Resize, resize>},
          {"resize_nearest_grad", in_layout<ops::Resize, resize_grad>}};
}

}  // namespace plait
