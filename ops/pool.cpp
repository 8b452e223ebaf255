// Pooling: types, index maps and gradients.
#include "ops/pool.h"

#include <limits>

#include "ops/count.h"
#include "ops/spatial.h"

namespace plait::ops {
namespace {

using loop::Expr;

/// A pooling by its sizes: of an image x, giving y.
struct Pooling {
  Image x, y;
  Windows windows;
  bool nhwc;
  Dim area() const { return windows.h.taps * windows.w.taps; }
};

template <class Attrs>
Windows pool_windows(const NodeView& v, const Attrs& a, const Sizes& dilation) {
  if (a.kernel.size() != 2 || a.kernel[0] < 1 || a.kernel[1] < 1) {
    v.fail("kernel must be two numbers of at least 1 (height, width), given ",
           shape_text(a.kernel));
  }
  const Sizes& stride = a.stride.empty() ? a.kernel : a.stride;
  Windows windows = windows_of(v, a.kernel[0], a.kernel[1], stride, a.padding, dilation);
  for (Window* w : {&windows.h, &windows.w}) {
    w->ceil = a.ceil_mode;
    const std::int64_t reach = w->reach().value();
    if (w->before >= reach || w->after >= reach) {  // there would be windows of padding alone
      v.fail("padding must be less than the ", reach, " that a window reaches over, given ",
             shape_text(a.padding));
    }
  }
  return windows;
}
Windows pool_windows(const NodeView& v, const MaxPool2d& a) {
  return pool_windows(v, a, a.dilation);
}
Windows pool_windows(const NodeView& v, const AvgPool2d& a) { return pool_windows(v, a, {1, 1}); }

/// Operand 0 is x.
template <class Attrs>
Pooling pooling(const NodeView& v, const Attrs& a) {
  want_rank(v, 0, 4);
  const bool nhwc = is_nhwc(v, a.layout);
  const Image x = image_of(v.in(0).shape, nhwc);
  const Windows windows = pool_windows(v, a);
  return {x, slide(v, windows, x), windows, nhwc};
}

/// Operand 0 is y, and the attributes say the size of x.
template <class Attrs>
Pooling unpooling(const NodeView& v, const Attrs& a) {
  want_rank(v, 0, 4);
  want_size(v, "size", a.size);
  const bool nhwc = is_nhwc(v, a.layout);
  Image x = image_of(v.in(0).shape, nhwc);
  x.h = a.size[0];
  x.w = a.size[1];
  const Windows windows = pool_windows(v, a);
  const Pooling p{x, slide(v, windows, x), windows, nhwc};
  want_shape(v, 0, laid_out(p.y, nhwc), "what pooling makes of an image of this size");
  return p;
}

DType arg_dtype(const Pooling& p) { return p.area().value() <= 255 ? DType::u8 : DType::i32; }

void want_arg(const NodeView& v, const Pooling& p) {
  want_shape(v, 1, laid_out(p.y, p.nhwc), "one per window");
  want_dtype(v, 1, dtype_set(arg_dtype(p)), name_of(arg_dtype(p)));
}

/// The walk over all windows' taps: indices of the output, the position of the tap in its window,
/// and its element of operand 0 with `otherwise` for padding.
struct Walk {
  Image at;
  Expr position, x;
};
Walk walk(loop::Nest& nest, const Pooling& p, double otherwise) {
  const Image at = add_image(nest, p.y, p.nhwc, "nchw");
  const Dim i = add_index(nest, "i", p.windows.h.taps, true);
  const Dim j = add_index(nest, "j", p.windows.w.taps, true);
  const Dim row = p.windows.h.source(at.h, i), column = p.windows.w.source(at.w, j);
  const std::vector<loop::Guard> inside =
      joined(p.windows.h.inside(row, p.x.h), p.windows.w.inside(column, p.x.w));
  const Expr x =
      add_load(nest, {0, laid_out({at.n, at.c, row, column}, p.nhwc), inside, otherwise});
  return {at, Expr::index(i * p.windows.w.taps + j), x};
}

/// The walk over all windows that read each position of x: which window, by which of its taps.
struct ReverseWalk {
  Image by;
  Dim position;
  std::vector<loop::Guard> guards;
};
ReverseWalk reverse_walk(loop::Nest& nest, const Pooling& p) {
  const Image at = add_image(nest, p.x, p.nhwc, "nchw");
  const Readers rows = readers_of(nest, "i", p.windows.h, at.h, p.y.h);
  const Readers columns = readers_of(nest, "j", p.windows.w, at.w, p.y.w);
  return {{at.n, at.c, rows.by, columns.by},
          rows.tap * p.windows.w.taps + columns.tap,
          joined(joined(rows.tap_exists, columns.tap_exists),
                 joined(rows.by_exists, columns.by_exists))};
}

/// How many rows (or columns) of window `at` a mean over it counts.
Dim counted(const Window& window, const Dim& at, const Dim& length, bool include_padding) {
  const Dim start = window.source(at, 0), stop = start + window.taps;
  if (!include_padding) return plait::min(stop, length) - plait::max(start, 0);
  return window.ceil ? plait::min(window.taps, length + window.after - start) : window.taps;
}

/// What the sum over a window is divided by. At least 1, also for a window that there is not.
Expr divisor(const Pooling& p, const AvgPool2d& a, const Image& at) {
  const Dim rows = counted(p.windows.h, at.h, p.x.h, a.count_include_pad);
  const Dim columns = counted(p.windows.w, at.w, p.x.w, a.count_include_pad);
  const Dim count = plait::max(rows, 1) * plait::max(columns, 1);
  return count.is_const() ? Expr(static_cast<double>(count.value())) : Expr::index(count);
}

Shape spatial_size(const ir::Type& type, const std::string& layout) {
  const Image image = image_of(type.shape, layout == "NHWC");
  return {image.h, image.w};
}

std::vector<std::int64_t> spatial_axes(const std::string& layout) {
  return layout == "NHWC" ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{2, 3};
}

Grads unpooled(GradCtx& g, const Tensor& arg) {
  const auto a = g.as<MaxPool2d>();
  return {max_unpool2d(g.dy(), arg, MaxUnpool2d{a, spatial_size(g.type(), a.layout)})};
}

}  // namespace

std::vector<ir::Type> infer_max_pool2d(const NodeView& v) {
  const Pooling p = pooling(v, v.as<MaxPool2d>());
  return {{v.in(0).dtype, laid_out(p.y, p.nhwc)}};
}

std::vector<ir::Type> infer_max_pool2d_arg(const NodeView& v) {
  const Pooling p = pooling(v, v.as<MaxPool2d>());
  same_dtype(v, 0, 1);
  want_shape(v, 1, laid_out(p.y, p.nhwc), "one per window");
  return {{arg_dtype(p), v.in(1).shape}};
}

std::vector<ir::Type> infer_max_pool2d_take(const NodeView& v) {
  const Pooling p = pooling(v, v.as<MaxPool2d>());
  want_arg(v, p);
  return {{v.in(0).dtype, v.in(1).shape}};
}

std::vector<ir::Type> infer_max_unpool2d(const NodeView& v) {
  const Pooling p = unpooling(v, v.as<MaxUnpool2d>());
  want_arg(v, p);
  return {{v.in(0).dtype, laid_out(p.x, p.nhwc)}};
}

std::vector<ir::Type> infer_avg_pool2d(const NodeView& v) {
  const Pooling p = pooling(v, v.as<AvgPool2d>());
  return {{v.in(0).dtype, laid_out(p.y, p.nhwc)}};
}

std::vector<ir::Type> infer_avg_pool2d_grad(const NodeView& v) {
  const Pooling p = unpooling(v, v.as<AvgPool2dGrad>());
  return {{v.in(0).dtype, laid_out(p.x, p.nhwc)}};
}

std::vector<ir::Type> infer_global_pool2d(const NodeView& v) {
  want_rank(v, 0, 4);
  const bool nhwc = is_nhwc(v, v.as<GlobalPool2d>().layout);
  Image image = image_of(v.in(0).shape, nhwc);
  if (image.h.lo() < 1 || image.w.lo() < 1) v.fail("has no pixels: ", v.operand_text());
  image.h = image.w = 1;
  return {{v.in(0).dtype, laid_out(image, nhwc)}};
}

loop::Nest nest_max_pool2d(const NodeView& v) {
  const Pooling p = pooling(v, v.as<MaxPool2d>());
  loop::Nest nest;
  nest.body = walk(nest, p, -std::numeric_limits<double>::infinity()).x;
  nest.reduce = loop::Reduce::kMax;
  return nest;
}

loop::Nest nest_max_pool2d_arg(const NodeView& v) {
  const Pooling p = pooling(v, v.as<MaxPool2d>());
  loop::Nest nest;
  // Padding is NaN, which reaches nothing: a position is always inside the image.
  const Walk w = walk(nest, p, std::numeric_limits<double>::quiet_NaN());
  const Expr y = add_load(nest, {1, laid_out(w.at, p.nhwc)});
  nest.body = loop::select(y <= w.x, w.position, static_cast<double>(p.area().value()));
  nest.reduce = loop::Reduce::kMin;
  return nest;
}

loop::Nest nest_max_pool2d_take(const NodeView& v) {
  const Pooling p = pooling(v, v.as<MaxPool2d>());
  loop::Nest nest;
  const Walk w = walk(nest, p, 0);
  const Expr arg = add_load(nest, {1, laid_out(w.at, p.nhwc)});
  nest.body = loop::select(loop::eq(arg, w.position), w.x, 0);
  nest.reduce = loop::Reduce::kSum;
  return nest;
}

loop::Nest nest_max_unpool2d(const NodeView& v) {
  const Pooling p = unpooling(v, v.as<MaxUnpool2d>());
  loop::Nest nest;
  const ReverseWalk w = reverse_walk(nest, p);
  const std::vector<Dim> window = laid_out(w.by, p.nhwc);
  const Expr dy = add_load(nest, {0, window, w.guards});
  const Expr arg = add_load(nest, {1, window, w.guards, -1});
  nest.body = loop::select(loop::eq(arg, Expr::index(w.position)), dy, 0);
  nest.reduce = loop::Reduce::kSum;
  return nest;
}

loop::Nest nest_avg_pool2d(const NodeView& v) {
  const auto a = v.as<AvgPool2d>();
  const Pooling p = pooling(v, a);
  loop::Nest nest;
  const Walk w = walk(nest, p, 0);
  nest.body = w.x;
  nest.reduce = loop::Reduce::kSum;
  nest.finish = Expr::acc() / divisor(p, a, w.at);
  return nest;
}

loop::Nest nest_avg_pool2d_grad(const NodeView& v) {
  const auto a = v.as<AvgPool2dGrad>();
  const Pooling p = unpooling(v, a);
  loop::Nest nest;
  const ReverseWalk w = reverse_walk(nest, p);
  nest.body = add_load(nest, {0, laid_out(w.by, p.nhwc), w.guards}) / divisor(p, a, w.by);
  nest.reduce = loop::Reduce::kSum;
  return nest;
}

Dim max_unpool2d_operations(const NodeView& v) {
  return v.in(0).elements() * element_count(shape_of(v.as<MaxUnpool2d>().kernel));
}

Dim avg_pool2d_grad_operations(const NodeView& v) {
  return v.in(0).elements() * element_count(shape_of(v.as<AvgPool2dGrad>().kernel));
}

Grads max_pool2d_from_x_and_y(GradCtx& g) {
  return unpooled(g, max_pool2d_arg(g.in(), g.out(), g.as<MaxPool2d>()));
}

Grads max_pool2d_from_arg(GradCtx& g) {
  return unpooled(g, g.save("arg", max_pool2d_arg(g.in(), g.out(), g.as<MaxPool2d>())));
}

Grads max_pool2d_from_x(GradCtx& g) {
  const auto a = g.as<MaxPool2d>();
  return unpooled(g, max_pool2d_arg(g.in(), max_pool2d(g.in(), a), a));
}

Grads grad_max_pool2d_take(GradCtx& g) {
  Tensor dx;
  if (g.wants(0)) dx = unpooled(g, g.in(1))[0];
  return {dx, Tensor()};
}

Grads grad_max_unpool2d(GradCtx& g) {
  Tensor ddy;
  if (g.wants(0)) ddy = max_pool2d_take(g.dy(), g.in(1), MaxPool2d{g.as<MaxUnpool2d>()});
  return {ddy, Tensor()};
}

Grads grad_avg_pool2d(GradCtx& g) {
  const auto a = g.as<AvgPool2d>();
  return {avg_pool2d_grad(g.dy(), AvgPool2dGrad{a, spatial_size(g.type(), a.layout)})};
}

Grads grad_avg_pool2d_grad(GradCtx& g) {
  return {avg_pool2d(g.dy(), AvgPool2d{g.as<AvgPool2dGrad>()})};
}

std::vector<Tensor> decompose_global_avg_pool2d(DecomposeCtx& c) {
  return {c.in().mean(spatial_axes(c.as<GlobalPool2d>().layout), true)};
}

std::vector<Tensor> decompose_global_max_pool2d(DecomposeCtx& c) {
  return {c.in().max(spatial_axes(c.as<GlobalPool2d>().layout), true)};
}

Grads grad_global_avg_pool2d(GradCtx& g) {
  const Shape shape = g.type().shape, size = spatial_size(g.type(), g.as<GlobalPool2d>().layout);
  const Tensor count = size_as_tensor(g.b, size[0] * size[1], g.dy().dtype());
  return {(g.dy() / count).broadcast_to(shape)};
}

Grads grad_global_max_pool2d(GradCtx& g) {
  const Tensor mask = equal(g.in(), g.out());
  const Tensor count =
      mask.cast(g.dy().dtype()).sum(spatial_axes(g.as<GlobalPool2d>().layout), true);
  return {where(mask, g.dy() / count, 0.0)};
}

}  // namespace plait::ops
