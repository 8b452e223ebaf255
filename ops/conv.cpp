// Convolutions: types, index maps and gradients.
#include "ops/conv.h"

#include "ops/spatial.h"

namespace plait::ops {
namespace {

/// A convolution y = x * w by its sizes, whichever of the three a node makes.
struct Convolution {
  Image x, w, y;
  Windows windows;
  std::int64_t groups;
  bool nhwc;

  /// The channel of x that weight channel `c` of output channel `o` meets.
  Dim x_channel(const Dim& o, const Dim& c) const {
    return groups == 1 ? c : plait::floordiv(o, plait::floordiv(y.c, groups)) * w.c + c;
  }
  /// Channel `o`, counted in its group, of those of y that channel `c` of x is in.
  Dim y_channel(const Dim& c, const Dim& o) const {
    return groups == 1 ? o : plait::floordiv(c, w.c) * plait::floordiv(y.c, groups) + o;
  }
  /// The weight channel of channel `c` of x.
  Dim w_channel(const Dim& c) const { return groups == 1 ? c : plait::mod(c, w.c); }
};

/// The layout, after the checks on ranks and dtypes that all four ops share.
bool images_are_nhwc(const NodeView& v, const Conv2d& a) {
  if (a.groups < 1) v.fail("groups must be at least 1, given ", a.groups);
  for (int i = 0; i < 2; ++i) want_rank(v, i, 4);
  same_dtype(v, 0, 1);
  return is_nhwc(v, a.layout);
}

/// Sizes of y from those of x and w, all channels and windows checked.
Convolution convolve(const NodeView& v, const Conv2d& a, const Image& x, const Image& w) {
  const bool nhwc = is_nhwc(v, a.layout);
  if (!(w.c * Dim(a.groups) == x.c)) {
    if (!plait::mod(x.c, a.groups).is(0)) {
      v.fail(x.c, " channels do not divide into ", a.groups, " groups: ", v.operand_text());
    }
    const Image wanted{w.n, plait::floordiv(x.c, a.groups), w.h, w.w};
    v.fail("weights must be ", shape_text(laid_out(wanted, nhwc)), " for ", x.c, " channels in ",
           a.groups, " groups (", a.layout, "): ", v.operand_text());
  }
  if (!plait::mod(w.n, a.groups).is(0)) {
    v.fail(w.n, " output channels do not divide into ", a.groups, " groups: ", v.operand_text());
  }
  if (w.h.lo() < 1 || w.w.lo() < 1) v.fail("weights have no taps: ", v.operand_text());
  const Windows windows = windows_of(v, w.h, w.w, a.stride, a.padding, a.dilation);
  Image y = slide(v, windows, x);
  y.c = w.n;
  return {x, w, y, windows, a.groups, nhwc};
}

Convolution forward(const NodeView& v, const Conv2d& a) {
  const bool nhwc = images_are_nhwc(v, a);
  return convolve(v, a, image_of(v.in(0).shape, nhwc), image_of(v.in(1).shape, nhwc));
}

/// Operand 0 is y and operand 1 is w; x has this height and width.
Convolution backward(const NodeView& v, const Conv2d& a, const Dim& height, const Dim& width) {
  const bool nhwc = is_nhwc(v, a.layout);
  const Image y = image_of(v.in(0).shape, nhwc), w = image_of(v.in(1).shape, nhwc);
  if (!(w.n == y.c)) {
    const Image wanted{y.c, w.c, w.h, w.w};
    v.fail("weights must be ", shape_text(laid_out(wanted, nhwc)), " for ", y.c, " channels (",
           a.layout, "): ", v.operand_text());
  }
  return convolve(v, a, {y.n, w.c * Dim(a.groups), height, width}, w);
}

Convolution input_grad(const NodeView& v) {
  const auto a = v.as<Conv2dInputGrad>();
  images_are_nhwc(v, a);
  want_size(v, "size", a.size);
  return backward(v, a, a.size[0], a.size[1]);
}

Convolution weight_grad(const NodeView& v) {
  const auto a = v.as<Conv2dWeightGrad>();
  const bool nhwc = images_are_nhwc(v, a);
  want_size(v, "kernel", a.kernel);
  const Image x = image_of(v.in(0).shape, nhwc), y = image_of(v.in(1).shape, nhwc);
  return convolve(v, a, x, {y.c, plait::floordiv(x.c, a.groups), a.kernel[0], a.kernel[1]});
}

Convolution transposed(const NodeView& v) {
  const auto a = v.as<ConvTranspose2d>();
  const bool nhwc = images_are_nhwc(v, a);
  const Image x = image_of(v.in(0).shape, nhwc), w = image_of(v.in(1).shape, nhwc);
  const Windows windows = windows_of(v, w.h, w.w, a.stride, a.padding, a.dilation);
  const Sizes& more = a.output_padding;
  if (more.size() != 2 || more[0] < 0 || more[1] < 0 || more[0] >= a.stride[0] ||
      more[1] >= a.stride[1]) {
    v.fail("output_padding must be two numbers from 0 to below the stride ", shape_text(a.stride),
           ", given ", shape_text(more));
  }
  const auto length = [&](const Window& window, const Dim& positions, std::int64_t extra) {
    const Dim n = (positions - 1) * Dim(window.stride) + window.reach() - window.before -
                  window.after + extra;
    if (positions.lo() < 1 || n.lo() < 1) {
      v.fail("the result would have a size of ", n, ": ", v.operand_text());
    }
    return n;
  };
  return backward(v, a, length(windows.h, x.h, more[0]), length(windows.w, x.w, more[1]));
}

void want_bias(const NodeView& v, const Dim& channels) {
  if (!v.has(2)) return;
  same_dtype(v, 0, 2);
  want_shape(v, 2, {channels}, "one per output channel");
}

void add_bias(loop::Nest& nest, const NodeView& v, const Dim& channel) {
  if (v.has(2)) nest.finish = loop::Expr::acc() + add_load(nest, {2, {channel}});
}

/// x from y (operand 0) and w (operand 1): every position gathers from the windows that read it.
loop::Nest gather(const NodeView& v, const Convolution& c) {
  loop::Nest nest;
  const Image at = add_image(nest, c.x, c.nhwc, "nchw");
  const Readers rows = readers_of(nest, "i", c.windows.h, at.h, c.y.h);
  const Readers columns = readers_of(nest, "j", c.windows.w, at.w, c.y.w);
  const Dim o = add_index(nest, "o", plait::floordiv(c.y.c, c.groups), true);
  const Dim channel = c.y_channel(at.c, o);
  const std::vector<loop::Guard> taps = joined(rows.tap_exists, columns.tap_exists);
  const std::vector<loop::Guard> windows = joined(rows.by_exists, columns.by_exists);
  const loop::Expr y = add_load(
      nest, {0, laid_out({at.n, channel, rows.by, columns.by}, c.nhwc), joined(taps, windows)});
  const loop::Expr w = add_load(
      nest, {1, laid_out({channel, c.w_channel(at.c), rows.tap, columns.tap}, c.nhwc), taps});
  nest.body = y * w;
  nest.reduce = loop::Reduce::kSum;
  add_bias(nest, v, at.c);
  return nest;
}

Shape spatial_size(const ir::Type& type, const Conv2d& a) {
  const Image image = image_of(type.shape, a.layout == "NHWC");
  return {image.h, image.w};
}

/// The gradient of a bias: `dy` summed over all but its channels.
Tensor channel_sum(const Tensor& dy, const Conv2d& a) {
  return a.layout == "NHWC" ? dy.sum({0, 1, 2}) : dy.sum({0, 2, 3});
}

}  // namespace

std::vector<ir::Type> infer_conv2d(const NodeView& v) {
  const Convolution c = forward(v, v.as<Conv2d>());
  want_bias(v, c.y.c);
  return {{v.in(0).dtype, laid_out(c.y, c.nhwc)}};
}

std::vector<ir::Type> infer_conv2d_input_grad(const NodeView& v) {
  const Convolution c = input_grad(v);
  want_shape(v, 0, laid_out(c.y, c.nhwc), "what conv2d makes of an image of this size");
  return {{v.in(0).dtype, laid_out(c.x, c.nhwc)}};
}

std::vector<ir::Type> infer_conv2d_weight_grad(const NodeView& v) {
  const Convolution c = weight_grad(v);
  want_shape(v, 1, laid_out(c.y, c.nhwc), "what conv2d makes of x with this kernel");
  return {{v.in(0).dtype, laid_out(c.w, c.nhwc)}};
}

std::vector<ir::Type> infer_conv_transpose2d(const NodeView& v) {
  const Convolution c = transposed(v);
  want_bias(v, c.x.c);
  return {{v.in(0).dtype, laid_out(c.x, c.nhwc)}};
}

loop::Nest nest_conv2d(const NodeView& v) {
  const Convolution c = forward(v, v.as<Conv2d>());
  loop::Nest nest;
  const Image at = add_image(nest, c.y, c.nhwc, "nohw");
  const Dim i = add_index(nest, "i", c.w.h, true), j = add_index(nest, "j", c.w.w, true);
  const Dim k = add_index(nest, "c", c.w.c, true);
  const Dim row = c.windows.h.source(at.h, i), column = c.windows.w.source(at.w, j);
  const loop::Expr x =
      add_load(nest, {0, laid_out({at.n, c.x_channel(at.c, k), row, column}, c.nhwc),
                      joined(c.windows.h.inside(row, c.x.h), c.windows.w.inside(column, c.x.w))});
  const loop::Expr w = add_load(nest, {1, laid_out({at.c, k, i, j}, c.nhwc)});
  nest.body = x * w;
  nest.reduce = loop::Reduce::kSum;
  add_bias(nest, v, at.c);
  return nest;
}

loop::Nest nest_conv2d_input_grad(const NodeView& v) { return gather(v, input_grad(v)); }

loop::Nest nest_conv_transpose2d(const NodeView& v) { return gather(v, transposed(v)); }

loop::Nest nest_conv2d_weight_grad(const NodeView& v) {
  const Convolution c = weight_grad(v);
  loop::Nest nest;
  const Image at = add_image(nest, c.w, c.nhwc, "ocij");
  const Dim n = add_index(nest, "n", c.y.n, true);
  const Dim h = add_index(nest, "h", c.y.h, true), w = add_index(nest, "w", c.y.w, true);
  const Dim row = c.windows.h.source(h, at.h), column = c.windows.w.source(w, at.w);
  const loop::Expr x =
      add_load(nest, {0, laid_out({n, c.x_channel(at.n, at.c), row, column}, c.nhwc),
                      joined(c.windows.h.inside(row, c.x.h), c.windows.w.inside(column, c.x.w))});
  const loop::Expr y = add_load(nest, {1, laid_out({n, at.n, h, w}, c.nhwc)});
  nest.body = x * y;
  nest.reduce = loop::Reduce::kSum;
  return nest;
}

Dim scatter_operations(const NodeView& v) {
  const Shape& w = v.in(1).shape;  // its axes behind the first: one group's weights per channel
  return v.in(0).elements() * w[1] * w[2] * w[3] * Dim(2);
}

Grads grad_conv2d(GradCtx& g) {
  const auto a = g.as<Conv2d>();
  Grads grads(static_cast<std::size_t>(g.node.count()));
  if (g.wants(0)) {
    grads[0] = conv2d_input_grad(g.dy(), g.in(1), Conv2dInputGrad{a, spatial_size(g.type(0), a)});
  }
  if (g.wants(1)) {
    grads[1] = conv2d_weight_grad(g.in(0), g.dy(), Conv2dWeightGrad{a, spatial_size(g.type(1), a)});
  }
  if (g.node.has(2) && g.wants(2)) grads[2] = channel_sum(g.dy(), a);
  return grads;
}

Grads grad_conv2d_input_grad(GradCtx& g) {
  const auto a = g.as<Conv2dInputGrad>();
  const Shape kernel = spatial_size(g.type(1), a);
  return {g.wants(0) ? conv2d(g.dy(), g.in(1), Conv2d{a}) : Tensor(),
          g.wants(1) ? conv2d_weight_grad(g.dy(), g.in(0), Conv2dWeightGrad{a, kernel}) : Tensor()};
}

Grads grad_conv2d_weight_grad(GradCtx& g) {
  const auto a = g.as<Conv2dWeightGrad>();
  const Shape size = spatial_size(g.type(0), a);
  return {g.wants(0) ? conv2d_input_grad(g.in(1), g.dy(), Conv2dInputGrad{a, size}) : Tensor(),
          g.wants(1) ? conv2d(g.in(0), g.dy(), Conv2d{a}) : Tensor()};
}

Grads grad_conv_transpose2d(GradCtx& g) {
  const auto a = g.as<ConvTranspose2d>();
  Grads grads(static_cast<std::size_t>(g.node.count()));
  if (g.wants(0)) grads[0] = conv2d(g.dy(), g.in(1), Conv2d{a});
  if (g.wants(1)) {
    grads[1] = conv2d_weight_grad(g.dy(), g.in(0), Conv2dWeightGrad{a, spatial_size(g.type(1), a)});
  }
  if (g.node.has(2) && g.wants(2)) grads[2] = channel_sum(g.dy(), a);
  return grads;
}

}  // namespace plait::ops
