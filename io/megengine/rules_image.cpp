// Convolutions, poolings and batch normalisation. Layouts of packed channels (NCHW4, NHWCD4...) and
// flipped kernels have no word here.
#include "io/megengine/translate.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/conv.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/shape.h"

namespace plait::io::megengine {
namespace {

bool plain_layout(const Params& p) {
  const std::string format = p.text("format", "NCHW");
  return format == "NCHW" || format == "NHWC";
}

/// What a convolution's parameters say; nothing where we have no such convolution.
std::optional<ops::Conv2d> conv_attrs(const Params& p) {
  if (!p.known() || !plain_layout(p)) return std::nullopt;
  if (p.text("mode", "CROSS_CORRELATION") != "CROSS_CORRELATION") return std::nullopt;
  const std::int64_t h = p.integer("pad_h", 0), w = p.integer("pad_w", 0);
  ops::Conv2d a;
  a.stride = {p.integer("stride_h", 1), p.integer("stride_w", 1)};
  a.padding = {h, h, w, w};
  a.dilation = {p.integer("dilate_h", 1), p.integer("dilate_w", 1)};
  a.layout = p.text("format", "NCHW");
  return a;
}

/// The filter as ours is: MegEngine's has an axis of groups in front when it is grouped.
std::optional<Tensor> filter_of(const Params& p, const Tensor& w, ops::Conv2d& a) {
  const std::string sparse = p.text("sparse", "DENSE");
  if (sparse == "DENSE") return w.rank() == 4 ? std::optional(w) : std::nullopt;
  if (sparse != "GROUP" || w.rank() != 5 || !w.dim(0).is_const()) return std::nullopt;
  a.groups = w.dim(0).value();
  return w.reshape({w.dim(0) * w.dim(1), w.dim(2), w.dim(3), w.dim(4)});
}

/// A bias of one number a channel as [C]; nothing where it is of another shape.
std::optional<Tensor> channel_bias(const Tensor& bias, const ops::Conv2d& a) {
  if (bias.rank() == 1) return bias;
  if (bias.rank() != 4) return std::nullopt;
  const int channel = a.layout == "NHWC" ? 3 : 1;
  for (int i = 0; i < 4; ++i) {
    if (i != channel && !bias.dim(i).is(1)) return std::nullopt;
  }
  return bias.reshape({bias.dim(channel)});
}

bool is_activation(const std::string& mode) {
  return mode == "RELU" || mode == "SIGMOID" || mode == "H_SWISH";
}

Tensor activated(const Call& c, const Tensor& y, const std::string& mode) {
  if (mode == "RELU") return c.last(ops::relu, {y});
  if (mode == "SIGMOID") return c.last(ops::sigmoid, {y});
  return c.last(ops::mul, {y, hard_gate(y)});
}

/// Height and width of an image shape.
Shape spatial(const Sizes& sizes, const std::string& layout) {
  const std::size_t first = layout == "NHWC" ? 1 : 2;
  return {sizes[first], sizes[first + 1]};
}

}  // namespace

std::optional<Tensor> convolution(Call& c) {
  std::optional<ops::Conv2d> a = conv_attrs(c.params);
  if (!a || c.count() != 2) return std::nullopt;
  const std::optional<Tensor> w = filter_of(c.params, c.in(1), *a);
  if (!w || c.in(0).rank() != 4) return std::nullopt;
  return c.last(ops::conv2d, {c.in(0), *w}, *a);
}

std::optional<Tensor> conv_bias(Call& c) {
  std::optional<ops::Conv2d> a = conv_attrs(c.params);
  if (!a || c.count() < 2 || c.count() > 4) return std::nullopt;
  const std::string mode = c.params.text("nonlineMode", "IDENTITY");
  const bool plain = mode == "IDENTITY";
  if (!plain && !is_activation(mode)) return std::nullopt;
  const std::optional<Tensor> w = filter_of(c.params, c.in(1), *a);
  if (!w || c.in(0).rank() != 4) return std::nullopt;
  std::vector<Tensor> operands{c.in(0), *w};
  if (c.count() > 2) {
    const std::optional<Tensor> bias = channel_bias(c.in(2), *a);
    if (!bias) return std::nullopt;
    operands.push_back(*bias);
  }
  if (plain && c.count() < 4) return c.last(ops::conv2d, operands, *a);
  Tensor y = c.t.b.add(ops::conv2d, operands, ir::encode(*a))[0];
  if (c.count() == 4) y = plain ? c.last(ops::add, {y, c.in(3)}) : y + c.in(3);
  return plain ? y : activated(c, y, mode);
}

std::optional<Tensor> conv_input_grad(Call& c) {
  std::optional<ops::Conv2d> a = conv_attrs(c.params);
  if (!a || c.count() < 2) return std::nullopt;
  const std::optional<Tensor> w = filter_of(c.params, c.in(0), *a);
  const Sizes out = c.recorded();
  if (!w || out.size() != 4) return std::nullopt;
  return c.last(ops::conv2d_input_grad, {c.in(1), *w},
                ops::Conv2dInputGrad{*a, spatial(out, a->layout)});
}

std::optional<Tensor> conv_weight_grad(Call& c) {
  const std::optional<ops::Conv2d> a = conv_attrs(c.params);
  const Sizes out = c.recorded();
  if (!a || c.count() < 2 || out.size() != 4) return std::nullopt;
  if (c.params.text("sparse", "DENSE") != "DENSE") return std::nullopt;
  return c.last(ops::conv2d_weight_grad, {c.in(0), c.in(1)},
                ops::Conv2dWeightGrad{*a, spatial(out, a->layout)});
}

std::optional<Tensor> pooling(Call& c) {
  const Params& p = c.params;
  if (!p.known() || !plain_layout(p) || c.count() != 1 || c.in(0).rank() != 4) return std::nullopt;
  const std::string mode = p.text("mode", "MAX"), layout = p.text("format", "NCHW");
  const Sizes kernel{p.integer("window_h", 2), p.integer("window_w", 2)};
  const Sizes stride{p.integer("stride_h", 2), p.integer("stride_w", 2)};
  const std::int64_t h = p.integer("pad_h", 0), w = p.integer("pad_w", 0);
  const Sizes image = sizes_of(c.in(0).shape(), c.t.bindings);
  const std::size_t first = layout == "NHWC" ? 1 : 2;
  // A window over the whole image stays that when the image has another size.
  const bool whole = h == 0 && w == 0 && kernel == Sizes{image[first], image[first + 1]};
  if (mode == "MAX") {
    if (whole) return c.last(ops::global_max_pool2d, {c.in(0)}, ops::GlobalPool2d{layout});
    return c.last(ops::max_pool2d, {c.in(0)},
                  ops::MaxPool2d{kernel, stride, {h, h, w, w}, {1, 1}, false, layout});
  }
  const bool padding_counts = mode == "AVERAGE";
  if (!padding_counts && mode != "AVERAGE_COUNT_EXCLUDE_PADDING") return std::nullopt;
  if (whole) return c.last(ops::global_avg_pool2d, {c.in(0)}, ops::GlobalPool2d{layout});
  return c.last(ops::avg_pool2d, {c.in(0)},
                ops::AvgPool2d{kernel, stride, {h, h, w, w}, false, padding_counts, layout});
}

std::optional<Tensor> adaptive_pooling(Call& c) {
  const Params& p = c.params;
  if (!plain_layout(p) || c.count() < 1 || c.in(0).rank() != 4) return std::nullopt;
  const std::string mode = p.text("mode", ""), layout = p.text("format", "NCHW");
  const Sizes out = c.recorded();
  if (mode.empty()) return std::nullopt;
  if (out.size() != 4 || spatial(out, layout) != Shape{1, 1}) return std::nullopt;
  const Op& op = mode == "MAX" ? ops::global_max_pool2d : ops::global_avg_pool2d;
  return c.last(op, {c.in(0)}, ops::GlobalPool2d{layout});
}

/// x, scale, bias, mean, variance: by given statistics only.
std::optional<Tensor> batch_norm(Call& c) {
  const Params& p = c.params;
  if (p.text("fwd_mode", "") != "INFERENCE" || p.text("param_dim", "") != "DIM_1C11" ||
      c.count() != 5) {
    return std::nullopt;
  }
  std::vector<Tensor> operands{c.in(0)};
  for (int i = 1; i < 5; ++i) {
    const std::optional<Tensor> row = channel_bias(c.in(i), {});
    if (!row) return std::nullopt;
    operands.push_back(*row);
  }
  return c.last(ops::batch_norm_inference, operands, ops::BatchNorm{p.real("epsilon", 1e-4)});
}

}  // namespace plait::io::megengine
