// Normalisations: types, decompositions and gradients. All but the batch norms share one shape of
// gradient: what comes before weight and bias (`normal`) and the factor that made it (`rstd`).
#include "ops/norm.h"

#include "ops/count.h"

namespace plait::ops {
namespace {

using AxisList = std::vector<std::int64_t>;

/// UserError unless operand i is [size...] in x's dtype or in f32 beside a half.
void want_parameter(const NodeView& v, int i, const Shape& shape, std::string_view what) {
  if (!v.has(i)) return;
  want_shape(v, i, shape, what);
  const DType x = v.in(0).dtype, given = v.in(i).dtype;
  if (given != x && given != compute_dtype(x)) {
    v.fail_hint("Cast one of them", "operand dtypes differ: ", v.operand_text());
  }
}

std::vector<ir::Type> infer_trailing(const NodeView& v, std::int64_t last) {
  const Shape& x = v.in(0).shape;
  if (last < 1 || last > v.in(0).rank()) {
    v.fail("last=", last, " axes to normalise must be 1 to ", v.in(0).rank(), ": ",
           v.operand_text());
  }
  const Shape trailing(x.end() - last, x.end());
  for (int i = 1; i < v.count(); ++i) want_parameter(v, i, trailing, "the normalised axes");
  return same_as_input(v);
}

std::size_t channel_axis(const NodeView& v, const std::string& layout) {
  if (layout != "NCHW" && layout != "NHWC") {
    v.fail_hint("It is NCHW or NHWC", "layout cannot be ", quoted(layout));
  }
  if (v.in(0).rank() < 2) v.fail("x needs a batch and a channel axis: ", v.operand_text());
  return layout == "NCHW" ? 1 : static_cast<std::size_t>(v.in(0).rank() - 1);
}

/// Where the channels of x are: parameters [C] are reshaped to `aligned` to meet x.
struct Channels {
  Shape aligned;    // 1 everywhere but at the channels
  AxisList others;  // axes that are not the channels'
  Dim count;        // C
  Tensor align(const Tensor& t) const { return t.reshape(aligned); }
  Tensor sum(const Tensor& t) const { return t.sum(others); }
};

Channels channels_of(const NodeView& v, const std::string& layout) {
  const Shape& x = v.in(0).shape;
  const std::size_t axis = channel_axis(v, layout);
  Channels c{Shape(x.size(), 1), {}, x[axis]};
  c.aligned[axis] = x[axis];
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i != axis) c.others.push_back(static_cast<std::int64_t>(i));
  }
  return c;
}

/// What is taken off x (by rms_norm nothing) and what multiplies the rest; size 1 along the axes.
struct Statistics {
  Tensor mean, rstd;
};

/// What weight and bias are applied to, and the factor that made it.
struct Normalised {
  Tensor value, rstd;
};

Statistics moments(const Tensor& x, const AxisList& axes, double eps) {
  const Tensor mean = x.mean(axes, true);
  return {mean, ((x - mean).square().mean(axes, true) + eps).rsqrt()};
}

Statistics mean_square(const Tensor& x, const AxisList& axes, double eps) {
  return {Tensor(), (x.square().mean(axes, true) + eps).rsqrt()};
}

Normalised normalise(const Tensor& x, const Statistics& s) {
  return {(s.mean ? x - s.mean : x) * s.rstd, s.rstd};
}

/// The gradient of x from that of its normal, where a mean was taken off.
Tensor standardise_grad(const Tensor& d, const Normalised& n, const AxisList& axes) {
  return n.rstd * (d - d.mean(axes, true) - n.value * (d * n.value).mean(axes, true));
}

Tensor scale_to_unit_grad(const Tensor& d, const Normalised& n, const AxisList& axes) {
  return n.rstd * (d - n.value * (d * n.value).mean(axes, true));
}

AxisList trailing_axes(const NodeView& v, std::int64_t last) {
  AxisList axes;
  for (std::int64_t i = v.in(0).rank() - last; i < v.in(0).rank(); ++i) axes.push_back(i);
  return axes;
}

/// Keeps the statistics, under one name, if asked to; otherwise they are made from x again.
Statistics keep(GradCtx& g, Statistics s, bool saved) {
  if (saved) s.rstd = g.save("statistics", s.rstd);
  return s;
}

/// x [N,C,...] or [N,...,C] with its channels split into groups, and the axes of one group.
struct Grouped {
  Shape shape;
  AxisList axes;
};

Grouped grouped(const NodeView& v, const GroupNorm& a) {
  const Shape& x = v.in(0).shape;
  const std::size_t axis = channel_axis(v, a.layout);
  Grouped out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::int64_t>(out.shape.size());
    if (i == axis) {
      out.shape.push_back(a.groups);
      out.shape.push_back(plait::floordiv(x[i], a.groups));
      out.axes.push_back(at + 1);
    } else {
      out.shape.push_back(x[i]);
      if (i > 0) out.axes.push_back(at);
    }
  }
  return out;
}

/// Gradients of a trailing norm's operands.
Grads trailing_grads(GradCtx& g, const Normalised& n, const AxisList& axes,
                     Tensor (*normal_grad)(const Tensor&, const Normalised&, const AxisList&)) {
  Grads grads(static_cast<std::size_t>(g.node.count()));
  if (g.wants(0)) {
    grads[0] = normal_grad(g.node.has(1) ? g.dy() * g.in(1) : g.dy(), n, axes);
  }
  if (g.node.has(1) && g.wants(1)) grads[1] = sum_to(g.dy() * n.value, g.type(1).shape);
  if (g.node.has(2) && g.wants(2)) grads[2] = sum_to(g.dy(), g.type(2).shape);
  return grads;
}

Grads layer_norm_grads(GradCtx& g, bool saved) {
  const auto a = g.as<LayerNorm>();
  const AxisList axes = trailing_axes(g.node, a.last);
  const Statistics s = keep(g, moments(g.in(0), axes, a.eps), saved);
  return trailing_grads(g, normalise(g.in(0), s), axes, standardise_grad);
}

Grads rms_norm_grads(GradCtx& g, bool saved) {
  const auto a = g.as<RmsNorm>();
  const AxisList axes = trailing_axes(g.node, a.last);
  const Statistics s = keep(g, mean_square(g.in(0), axes, a.eps), saved);
  return trailing_grads(g, normalise(g.in(0), s), axes, scale_to_unit_grad);
}

Grads group_norm_grads(GradCtx& g, bool saved) {
  const auto a = g.as<GroupNorm>();
  const Grouped to = grouped(g.node, a);
  const Channels channels = channels_of(g.node, a.layout);
  const Statistics s = keep(g, moments(g.in(0).reshape(to.shape), to.axes, a.eps), saved);
  const Normalised n = normalise(g.in(0).reshape(to.shape), s);
  Grads grads(static_cast<std::size_t>(g.node.count()));
  if (g.wants(0)) {
    const Tensor d = g.node.has(1) ? g.dy() * channels.align(g.in(1)) : g.dy();
    grads[0] = standardise_grad(d.reshape(to.shape), n, to.axes).reshape(g.type().shape);
  }
  if (g.node.has(1) && g.wants(1)) {
    grads[1] = channels.sum(g.dy() * n.value.reshape(g.type().shape));
  }
  if (g.node.has(2) && g.wants(2)) grads[2] = channels.sum(g.dy());
  return grads;
}

/// How many elements share a channel's statistics.
Tensor elements_per_channel(Builder& b, const Tensor& x, const Channels& channels) {
  Dim count = 1;
  for (std::int64_t axis : channels.others) count = count * x.dim(static_cast<int>(axis));
  return size_as_tensor(b, count, x.dtype());
}

/// From the statistics in whatever way they were had. They are functions of x, and what flows back
/// into them as results (running statistics do not, but may be asked for) counts too.
Grads batch_norm_grads(GradCtx& g, const Channels& channels, const Tensor& mean,
                       const Tensor& var) {
  const Tensor centred = g.in(0) - channels.align(mean);
  const Tensor rstd = (channels.align(var) + g.as<BatchNorm>().eps).rsqrt();
  const Normalised n{centred * rstd, rstd};
  Grads grads(3);
  if (g.has_dy(0)) {
    if (g.wants(0)) {
      grads[0] = standardise_grad(g.dy() * channels.align(g.in(1)), n, channels.others);
    }
    if (g.wants(1)) grads[1] = channels.sum(g.dy() * n.value);
    if (g.wants(2)) grads[2] = channels.sum(g.dy());
  }
  if (!g.wants(0) || !(g.has_dy(1) || g.has_dy(2))) return grads;
  const Tensor count = elements_per_channel(g.b, g.in(0), channels);
  auto add = [&](const Tensor& d) { grads[0] = grads[0] ? grads[0] + d : d; };
  if (g.has_dy(1)) add((channels.align(g.dy(1)) / count).broadcast_to(g.type().shape));
  if (g.has_dy(2)) add(channels.align(g.dy(2)) * 2.0 / count * centred);
  return grads;
}

}  // namespace

std::vector<ir::Type> infer_layer_norm(const NodeView& v) {
  return infer_trailing(v, v.as<LayerNorm>().last);
}

std::vector<ir::Type> infer_rms_norm(const NodeView& v) {
  return infer_trailing(v, v.as<RmsNorm>().last);
}

std::vector<ir::Type> infer_group_norm(const NodeView& v) {
  const auto a = v.as<GroupNorm>();
  const Dim channels = v.in(0).shape[channel_axis(v, a.layout)];
  if (a.groups < 1 || !plait::mod(channels, a.groups).is(0)) {
    v.fail("groups=", a.groups, " does not divide the ", channels, " channels (", a.layout,
           "): ", v.operand_text());
  }
  for (int i = 1; i < v.count(); ++i) want_parameter(v, i, {channels}, "the channels");
  return same_as_input(v);
}

std::vector<ir::Type> infer_batch_norm_inference(const NodeView& v) {
  const Dim channels = v.in(0).shape[channel_axis(v, v.as<BatchNorm>().layout)];
  for (int i = 1; i < v.count(); ++i) want_parameter(v, i, {channels}, "the channels");
  return same_as_input(v);
}

std::vector<ir::Type> infer_batch_norm(const NodeView& v) {
  const Dim channels = v.in(0).shape[channel_axis(v, v.as<BatchNorm>().layout)];
  const ir::Type statistic{compute_dtype(v.in(0).dtype), {channels}};
  return {infer_batch_norm_inference(v)[0], statistic, statistic};
}

std::vector<Tensor> decompose_layer_norm(DecomposeCtx& c) {
  const auto a = c.as<LayerNorm>();
  Tensor y = normalise(c.in(0), moments(c.in(0), trailing_axes(c.node, a.last), a.eps)).value;
  if (c.has(1)) y = y * c.in(1);
  if (c.has(2)) y = y + c.in(2);
  return {y};
}

std::vector<Tensor> decompose_rms_norm(DecomposeCtx& c) {
  const auto a = c.as<RmsNorm>();
  const AxisList axes = trailing_axes(c.node, a.last);
  const Tensor y = normalise(c.in(0), mean_square(c.in(0), axes, a.eps)).value;
  return {c.has(1) ? y * c.in(1) : y};
}

std::vector<Tensor> decompose_group_norm(DecomposeCtx& c) {
  const auto a = c.as<GroupNorm>();
  const Grouped to = grouped(c.node, a);
  const Channels channels = channels_of(c.node, a.layout);
  const Tensor x = c.in(0).reshape(to.shape);
  Tensor y = normalise(x, moments(x, to.axes, a.eps)).value.reshape(c.node.in(0).shape);
  if (c.has(1)) y = y * channels.align(c.in(1));
  if (c.has(2)) y = y + channels.align(c.in(2));
  return {y};
}

std::vector<Tensor> decompose_batch_norm(DecomposeCtx& c) {
  const auto a = c.as<BatchNorm>();
  const Channels channels = channels_of(c.node, a.layout);
  const Tensor mean = c.in(0).mean(channels.others, true);
  const Tensor centred = c.in(0) - mean;
  const Tensor var = centred.square().mean(channels.others, true);
  const Tensor y =
      centred * (var + a.eps).rsqrt() * channels.align(c.in(1)) + channels.align(c.in(2));
  return {y, mean.reshape({channels.count}), var.reshape({channels.count})};
}

std::vector<Tensor> decompose_batch_norm_inference(DecomposeCtx& c) {
  const auto a = c.as<BatchNorm>();
  const Channels channels = channels_of(c.node, a.layout);
  const Tensor factor = (c.in(4) + a.eps).rsqrt() * c.in(1);
  return {(c.in(0) - channels.align(c.in(3))) * channels.align(factor) + channels.align(c.in(2))};
}

Grads layer_norm_from_x(GradCtx& g) { return layer_norm_grads(g, false); }
Grads layer_norm_from_statistics(GradCtx& g) { return layer_norm_grads(g, true); }
Grads rms_norm_from_x(GradCtx& g) { return rms_norm_grads(g, false); }
Grads rms_norm_from_statistics(GradCtx& g) { return rms_norm_grads(g, true); }
Grads group_norm_from_x(GradCtx& g) { return group_norm_grads(g, false); }
Grads group_norm_from_statistics(GradCtx& g) { return group_norm_grads(g, true); }

Grads batch_norm_from_statistics(GradCtx& g) {
  return batch_norm_grads(g, channels_of(g.node, g.as<BatchNorm>().layout), g.out(1), g.out(2));
}

Grads batch_norm_from_x(GradCtx& g) {
  const Channels channels = channels_of(g.node, g.as<BatchNorm>().layout);
  const Tensor mean = g.in(0).mean(channels.others, true);
  const Tensor var = (g.in(0) - mean).square().mean(channels.others, true);
  return batch_norm_grads(g, channels, mean, var);
}

// Everything but dx is made from two sums per channel: dbias and dweight.
Grads grad_batch_norm_inference(GradCtx& g) {
  const auto a = g.as<BatchNorm>();
  const Channels channels = channels_of(g.node, a.layout);
  const Tensor rstd = (g.in(4) + a.eps).rsqrt();
  const Tensor factor = rstd * g.in(1);
  Grads grads(5);
  if (g.wants(0)) grads[0] = g.dy() * channels.align(factor);
  if (g.wants(2) || g.wants(3)) grads[2] = channels.sum(g.dy());
  if (g.wants(1) || g.wants(4)) {
    const Tensor normal = (g.in(0) - channels.align(g.in(3))) * channels.align(rstd);
    grads[1] = channels.sum(g.dy() * normal);
  }
  if (g.wants(3)) grads[3] = -(grads[2] * factor);
  if (g.wants(4)) grads[4] = grads[1] * factor * rstd * -0.5;
  return grads;
}

}  // namespace plait::ops
