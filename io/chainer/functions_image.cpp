// Functions on images [N,C,H,W]. Kernel sizes are not in the document: they are what makes weights
// and results have their bytes, square ones tried first.
#include "io/chainer/functions.h"
#include "ops/conv.h"
#include "ops/initializers.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/resize.h"
#include "ops/shape.h"
#include "ops/unary.h"

namespace plait::io::chainer {
namespace {

using Tensors = std::vector<Tensor>;

constexpr std::int64_t kMaxKernel = 512;

struct Axis {
  std::int64_t stride, padding, dilation;
  /// Windows of `taps` along `length`, none when it does not fit.
  std::int64_t windows(std::int64_t length, std::int64_t taps, bool cover_all) const {
    const std::int64_t room = length + 2 * padding - (taps - 1) * dilation - 1;
    if (room < 0 || stride < 1) return 0;
    return (room + (cover_all ? stride - 1 : 0)) / stride + 1;
  }
  /// What a transposed convolution makes of `length`.
  std::int64_t spread(std::int64_t length, std::int64_t taps) const {
    return stride * (length - 1) + (taps - 1) * dilation + 1 - 2 * padding;
  }
};

struct Windows {
  Axis h, w;
  std::int64_t groups;
};

Windows windows_of(const Call& c) {
  const Windows w{{c.integer("sy"), c.integer("ph"), c.integer("dy", 1)},
                  {c.integer("sx"), c.integer("pw"), c.integer("dx", 1)},
                  c.has("groups") ? c.integer("groups") : c.integer("group", 1)};
  for (const Axis& a : {w.h, w.w}) {
    if (a.stride < 1 || a.padding < 0 || a.dilation < 1) {
      fail("stride ", a.stride, ", padding ", a.padding, ", dilation ", a.dilation);
    }
  }
  if (w.groups < 1) fail("groups ", w.groups);
  return w;
}

/// A convolution's attributes of Plait, for any of its kinds.
template <class Attrs>
Attrs attrs_of(const Windows& w) {
  Attrs a;
  a.stride = {w.h.stride, w.w.stride};
  a.padding = {w.h.padding, w.h.padding, w.w.padding, w.w.padding};
  a.dilation = {w.h.dilation, w.w.dilation};
  a.groups = w.groups;
  return a;
}

Tensor image(Call& c, int i = 0) {
  const Tensor x = c.in(i);
  if (x.rank() != 4) fail("operand ", i, " is ", x.type(), ", no image [N,C,H,W]");
  return x;
}

struct Kernel {
  std::int64_t h, w, channels;  // channels of the result
};

/// The kernel whose `area * channels` weights there are, and that `fits`. `by_bias` is the number
/// of channels that a bias tells, 0 when there is none.
template <class Fits>
Kernel find_kernel(std::int64_t weights, std::int64_t by_bias, Fits fits) {
  const auto attempt = [&](std::int64_t h, std::int64_t w) -> std::optional<Kernel> {
    if (weights % (h * w) != 0) return {};
    const Kernel k{h, w, weights / (h * w)};
    if ((by_bias > 0 && k.channels != by_bias) || !fits(k)) return {};
    return k;
  };
  if (weights < 1) fail("weights are empty");
  for (std::int64_t k = 1; k <= kMaxKernel && k * k <= weights; ++k) {
    if (const auto found = attempt(k, k)) return *found;
  }
  for (std::int64_t h = 1; h <= kMaxKernel && h <= weights; ++h) {
    if (by_bias > 0) {  // the other side follows
      const std::int64_t area = weights % by_bias == 0 ? weights / by_bias : 0;
      if (area % h != 0 || area / h > kMaxKernel || area == 0) continue;
      if (const auto found = attempt(h, area / h)) return *found;
      continue;
    }
    for (std::int64_t w = 1; w <= 32 && h <= 32 && h * w <= weights; ++w) {
      if (const auto found = attempt(h, w)) return *found;
    }
  }
  fail("no kernel size gives weights of ", weights, " per input channel and this result");
}

Tensors convolution(Call& c) {
  const Windows win = windows_of(c);
  const Tensor x = image(c);
  const Sizes size = c.numbers(x.shape());
  if (size[1] % win.groups != 0) fail(size[1], " channels in ", win.groups, " groups");
  const std::int64_t in_group = size[1] / win.groups;
  const std::int64_t weights = c.elements(1), bias = c.count() > 2 ? c.elements(2) : 0;
  if (in_group < 1 || weights % in_group != 0) {
    fail(weights, " weights do not divide among ", in_group, " input channels");
  }
  const bool cover_all = c.flag("cover_all", false);
  const Kernel k = find_kernel(weights / in_group, bias, [&](const Kernel& t) {
    const std::int64_t h = win.h.windows(size[2], t.h, cover_all);
    const std::int64_t w = win.w.windows(size[3], t.w, cover_all);
    return t.channels % win.groups == 0 &&
           times(times(size[0], t.channels), times(h, w)) == c.out_elements();
  });
  Tensors operands{x, c.as(1, {k.channels, in_group, k.h, k.w})};
  if (c.count() > 2) operands.push_back(c.as(2, {k.channels}));
  return c.b.add(ops::conv2d, operands, ir::encode(attrs_of<ops::Conv2d>(win)));
}

Tensors deconvolution(Call& c) {
  const Windows win = windows_of(c);
  const Tensor x = image(c);
  const Sizes size = c.numbers(x.shape());
  const std::int64_t weights = c.elements(1), bias = c.count() > 2 ? c.elements(2) : 0;
  if (size[1] < 1 || weights % size[1] != 0) {
    fail(weights, " weights do not divide among ", size[1], " input channels");
  }
  if (bias % win.groups != 0) fail(bias, " channels in ", win.groups, " groups");
  const auto made = [&](const Axis& axis, std::int64_t length, std::int64_t taps,
                        std::string_view name) {
    return c.has(name) ? c.integer(name) : axis.spread(length, taps);
  };
  const Kernel k = find_kernel(weights / size[1], bias / win.groups, [&](const Kernel& t) {
    const std::int64_t h = made(win.h, size[2], t.h, "outh"), w = made(win.w, size[3], t.w, "outw");
    const std::int64_t more_h = h - win.h.spread(size[2], t.h);
    const std::int64_t more_w = w - win.w.spread(size[3], t.w);
    return h > 0 && w > 0 && more_h >= 0 && more_h < win.h.stride && more_w >= 0 &&
           more_w < win.w.stride &&
           times(times(size[0], times(t.channels, win.groups)), times(h, w)) == c.out_elements();
  });
  auto a = attrs_of<ops::ConvTranspose2d>(win);
  a.output_padding = {made(win.h, size[2], k.h, "outh") - win.h.spread(size[2], k.h),
                      made(win.w, size[3], k.w, "outw") - win.w.spread(size[3], k.w)};
  Tensors operands{x, c.as(1, {size[1], k.channels, k.h, k.w})};
  if (c.count() > 2) operands.push_back(c.as(2, {times(k.channels, win.groups)}));
  return c.b.add(ops::conv_transpose2d, operands, ir::encode(a));
}

template <class Attrs>
Attrs pool_attrs(const Call& c) {
  Attrs a;
  a.kernel = {c.integer("kh"), c.integer("kw")};
  a.stride = {c.integer("sy"), c.integer("sx")};
  const std::int64_t ph = c.integer("ph"), pw = c.integer("pw");
  a.padding = {ph, ph, pw, pw};
  return a;
}

Tensors max_pooling(Call& c) {
  auto a = pool_attrs<ops::MaxPool2d>(c);
  a.ceil_mode = c.flag("cover_all", true);
  return {ops::max_pool2d(image(c), a)};
}

// Its cover_all is not used by Chainer; padding counts. A window over the whole image stays that
// when the image's size changes.
Tensors average_pooling(Call& c) {
  const Tensor x = image(c);
  const auto a = pool_attrs<ops::AvgPool2d>(c);
  const bool whole_image = c.number(x.dim(2)) == a.kernel[0] && c.number(x.dim(3)) == a.kernel[1] &&
                           a.padding == Sizes{0, 0, 0, 0} && a.stride[0] > 0 && a.stride[1] > 0;
  return {whole_image ? ops::global_avg_pool2d(x, ops::GlobalPool2d{}) : ops::avg_pool2d(x, a)};
}

Tensor resized(const Tensor& x, const Dim& h, const Dim& w) {
  return ops::resize_nearest(x, ops::Resize{.size = {h, w}});
}

// Every pixel becomes a block; blocks that overlap or are cut are not a resize.
Tensors unpooling(Call& c) {
  const auto a = pool_attrs<ops::AvgPool2d>(c);
  const Tensor x = image(c);
  if (a.kernel != a.stride || a.padding != Sizes{0, 0, 0, 0}) fail("blocks overlap or are cut");
  return {resized(x, x.dim(2) * Dim(a.kernel[0]), x.dim(3) * Dim(a.kernel[1]))};
}

Tensors resize_images(Call& c) {
  const Tensor x = image(c);
  const std::int64_t h = c.integer("out_H"), w = c.integer("out_W");
  if (c.number(x.dim(2)) == h && c.number(x.dim(3)) == w) return {ops::copy(x)};
  if (c.word("mode", "bilinear") != "nearest") fail("Plait has no bilinear resize");
  // Whole multiples follow when the image's size changes.
  const auto scaled = [&](const Dim& from, std::int64_t to) {
    const std::int64_t n = c.number(from);
    return n > 0 && to % n == 0 ? from * Dim(to / n) : Dim(to);
  };
  return {resized(x, scaled(x.dim(2), h), scaled(x.dim(3), w))};
}

/// Channels are axis 1: all other axes are averaged over.
Tensor normalised_input(Call& c) {
  const Tensor x = c.in(0);
  if (x.rank() < 2) fail("operand 0 is ", x.type(), ", needs a batch and channels");
  const Sizes axes = c.list("axis");
  bool all_but_1 = axes.empty() || static_cast<int>(axes.size()) == x.rank() - 1;
  for (std::int64_t a : axes) all_but_1 &= a != 1 && a >= 0 && a < x.rank();
  if (!all_but_1) fail("is over axes ", shape_text(axes), " of ", x.type());
  return x;
}

Tensors batch_normalization(Call& c) {
  const Tensor x = normalised_input(c);
  const Shape channels{c.number(x.dim(1))};
  const Tensor gamma = c.as(1, channels, {}, init::ones()), beta = c.as(2, channels);
  return {ops::batch_norm(x, gamma, beta, ops::BatchNorm{.eps = c.real_number("eps", 2e-5)})};
}

Tensors fixed_batch_normalization(Call& c) {
  const Tensor x = normalised_input(c);
  const Shape channels{c.number(x.dim(1))};
  const ops::BatchNorm a{.eps = c.real_number("eps", 2e-5)};
  return c.b.add(ops::batch_norm_inference,
                 {x, c.as(1, channels, {}, init::ones()), c.as(2, channels), c.as(3, channels),
                  c.as(4, channels, {}, init::ones())},
                 ir::encode(a));
}

// x / (k + alpha * sum of squares over n neighbouring channels)^beta
Tensors local_response_normalization(Call& c) {
  constexpr std::int64_t kMaxNeighbours = 64;
  const Tensor x = c.in(0);
  const std::int64_t half = c.integer("n", 5) / 2;
  if (x.rank() < 2 || half < 0 || half > kMaxNeighbours / 2) fail("n=", c.integer("n", 5));
  ops::Pad pad{Shape(x.shape().size(), 0), Shape(x.shape().size(), 0), {}, 0};
  pad.low[1] = pad.high[1] = half;
  const Tensor squares = ops::pad(x.square(), pad);
  Tensor sum = squares.slice(1, 0, x.dim(1));
  for (std::int64_t i = 1; i <= 2 * half; ++i) sum = sum + squares.slice(1, i, x.dim(1) + i);
  const Tensor unit = c.real_number("k", 2) + c.real_number("alpha", 1e-4) * sum;
  const Tensor power = c.b.constant(-c.real_number("beta", 0.75), x.dtype());
  return {x * c.b.add("pow", {unit, power})[0]};
}

constexpr Function kImageFunctions[] = {
    {"Convolution2DFunction", convolution},
    {"Deconvolution2DFunction", deconvolution},
    {"MaxPooling2D", max_pooling},
    {"AveragePooling2D", average_pooling},
    {"Unpooling2D", unpooling},
    {"ResizeImages", resize_images},
    {"BatchNormalization", batch_normalization},
    {"FixedBatchNormalization", fixed_batch_normalization},
    {"LocalResponseNormalization", local_response_normalization},
};

}  // namespace

std::span<const Function> image_functions() { return kImageFunctions; }

}  // namespace plait::io::chainer
