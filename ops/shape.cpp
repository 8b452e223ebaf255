// Types, nests and gradients of the ops that move elements.
#include "ops/shape.h"

#include <algorithm>

#include "base/at.h"
#include "base/fits.h"
#include "base/text.h"

namespace plait::ops {
namespace {

/// A slice with one (start, stop, step) per axis, resolved against the sizes.
struct Range {
  Dim start, stop;
  std::int64_t step = 1;
  Dim count() const { return ceildiv(plait::max(Dim(0), stop - start), Dim(step)); }
};

/// Python's rule: negative counts from the end; both ends are clamped to [0, size].
Dim resolve_end(const Dim& end, const Dim& size) {
  const Dim from_start = end.is_const() && end.value() < 0 ? size + end : end;
  return plait::max(Dim(0), plait::min(from_start, size));
}

std::vector<Range> ranges_of(const NodeView& v) {
  const auto a = v.as<Slice>();
  const Shape& shape = v.in(0).shape;
  std::vector<Range> ranges;
  for (const Dim& d : shape) ranges.push_back({0, d, 1});
  if (a.starts.size() != a.axes.size() || a.stops.size() != a.axes.size() ||
      (!a.steps.empty() && a.steps.size() != a.axes.size())) {
    v.fail("axes, starts, stops and steps must have one length, given ", a.axes.size(), ", ",
           a.starts.size(), ", ", a.stops.size(), " and ", a.steps.size());
  }
  if (!a.axes.empty()) axes_of(v, a.axes, v.in(0).rank());
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    const auto axis = at(axis_of(v, a.axes[i], v.in(0).rank()));
    Range& r = ranges[axis];
    r.step = a.steps.empty() ? 1 : a.steps[i];
    if (r.step < 1) v.fail_hint("Use flip to go backwards", "step ", r.step, " is not positive");
    r.start = resolve_end(a.starts[i], shape[axis]);
    r.stop = resolve_end(a.stops[i], shape[axis]);
  }
  return ranges;
}

struct Padding {
  Shape low, high;
  std::vector<std::int64_t> gap;  // interior + 1
};

Padding padding_of(const NodeView& v) {
  const auto a = v.as<Pad>();
  const auto rank = v.in(0).shape.size();
  if (a.low.size() != rank || a.high.size() != rank ||
      (!a.interior.empty() && a.interior.size() != rank)) {
    v.fail("low and high must have one size per axis: ", v.operand_text(), ", low is ",
           shape_text(a.low), ", high is ", shape_text(a.high));
  }
  Padding p{a.low, a.high, std::vector<std::int64_t>(rank, 1)};
  for (std::size_t i = 0; i < a.interior.size(); ++i) {
    if (a.interior[i] < 0) v.fail("interior padding ", a.interior[i], " is negative");
    p.gap[i] = a.interior[i] + 1;
  }
  return p;
}

/// Length of an axis with gaps between its elements, without its ends.
Dim spread(const Dim& size, std::int64_t gap) {
  return gap == 1 ? size : plait::max(Dim(0), (size - 1) * Dim(gap) + 1);
}

}  // namespace

std::vector<ir::Type> infer_reshape(const NodeView& v) {
  Shape shape = v.as<ShapeTo>().shape;
  const Dim count = v.in(0).elements();
  Dim known = 1;
  int free_axis = -1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is(-1)) {
      if (free_axis >= 0) v.fail("two sizes of ", shape_text(shape), " are -1");
      free_axis = static_cast<int>(i);
    } else {
      if (shape[i].lo() < 0) v.fail("size ", shape[i], " is negative");
      known = known * shape[i];
    }
  }
  if (free_axis >= 0) {
    if (known.lo() <= 0)
      v.fail("-1 beside a size that may be 0 has no one value: ", shape_text(shape));
    const Dim rest = plait::floordiv(count, known);
    if (!(rest * known == count)) {
      v.fail(v.operand_text(), " does not divide into ", shape_text(shape));
    }
    shape[at(free_axis)] = rest;
  } else if (!(known == count)) {
    v.fail(v.operand_text(), ", ", count, " elements, does not fit ", shape_text(shape), ", ",
           known);
  }
  return {{v.in(0).dtype, shape}};
}

std::vector<ir::Type> infer_transpose(const NodeView& v) {
  const auto order = v.as<Order>().order;
  const int rank = v.in(0).rank();
  if (static_cast<int>(order.size()) != rank) {
    v.fail("order has ", order.size(), " axes: ", v.operand_text());
  }
  if (rank > 0) axes_of(v, order, rank);
  ir::Type type{v.in(0).dtype, {}};
  for (std::int64_t a : order) type.shape.push_back(v.in(0).shape[at(axis_of(v, a, rank))]);
  return {type};
}

std::vector<ir::Type> infer_broadcast(const NodeView& v) {
  const Shape shape = v.as<ShapeTo>().shape;
  for (const Dim& d : shape) {
    if (d.lo() < 0) v.fail("size ", d, " is negative");
  }
  if (v.in(0).shape.size() > shape.size() || !(broadcast(v, v.in(0).shape, shape) == shape)) {
    v.fail(v.operand_text(), " does not broadcast to ", shape_text(shape));
  }
  return {{v.in(0).dtype, shape}};
}

std::vector<ir::Type> infer_squeeze(const NodeView& v) {
  const auto a = v.as<Axes>().axes;
  std::vector<std::int64_t> axes;
  if (!a.empty()) axes = axes_of(v, a, v.in(0).rank());
  ir::Type type{v.in(0).dtype, {}};
  for (int i = 0; i < v.in(0).rank(); ++i) {
    const Dim& size = v.in(0).shape[at(i)];
    const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (named && !size.is(1)) v.fail("axis ", i, " has size ", size, ", not 1: ", v.operand_text());
    if (named || (a.empty() && size.is(1))) continue;
    type.shape.push_back(size);
  }
  return {type};
}

std::vector<ir::Type> infer_unsqueeze(const NodeView& v) {
  const auto a = v.as<Axes>().axes;
  const int rank = v.in(0).rank() + static_cast<int>(a.size());
  if (a.empty()) return same_as_input(v);
  const auto axes = axes_of(v, a, rank);
  ir::Type type{v.in(0).dtype, v.in(0).shape};
  for (std::int64_t axis : axes) type.shape.insert(type.shape.begin() + axis, Dim(1));
  return {type};
}

std::vector<ir::Type> infer_slice(const NodeView& v) {
  ir::Type type{v.in(0).dtype, {}};
  for (const Range& r : ranges_of(v)) type.shape.push_back(r.count());
  return {type};
}

std::vector<ir::Type> infer_pad(const NodeView& v) {
  const Padding p = padding_of(v);
  ir::Type type{v.in(0).dtype, {}};
  const double value = v.as<Pad>().value;
  if (const std::string why = misfit(value, type.dtype); !why.empty()) {
    v.fail("value is ", real_text(value), "; ", why, ": ", v.operand_text());
  }
  for (std::size_t i = 0; i < p.low.size(); ++i) {
    const Dim size = spread(v.in(0).shape[i], p.gap[i]) + p.low[i] + p.high[i];
    if (size.lo() < 0) {
      v.fail("axis ", i, " of ", v.in(0), " cannot lose ", Dim(0) - p.low[i] - p.high[i],
             " elements");
    }
    type.shape.push_back(size);
  }
  return {type};
}

std::vector<ir::Type> infer_concat(const NodeView& v) {
  if (v.count() == 0) v.fail("needs at least one operand");
  const auto axis = at(axis_of(v, v.as<Axis>().axis, v.in(0).rank()));
  ir::Type type{v.in(0).dtype, v.in(0).shape};
  for (int i = 1; i < v.count(); ++i) {
    same_dtype(v, 0, i);
    want_rank(v, i, v.in(0).rank());
    Shape other = v.in(i).shape;
    other[axis] = v.in(0).shape[axis];
    if (!(other == v.in(0).shape)) v.fail("sizes off axis ", axis, " differ: ", v.operand_text());
    type.shape[axis] = type.shape[axis] + v.in(i).shape[axis];
  }
  return {type};
}

std::vector<ir::Type> infer_split(const NodeView& v) {
  const auto a = v.as<Split>();
  const auto axis = at(axis_of(v, a.axis, v.in(0).rank()));
  std::vector<ir::Type> types;
  Dim total = 0;
  for (const Dim& size : a.sizes) {
    if (size.lo() < 0) v.fail("size ", size, " is negative");
    types.push_back({v.in(0).dtype, v.in(0).shape});
    types.back().shape[axis] = size;
    total = total + size;
  }
  if (types.empty()) v.fail_hint("Give sizes=[...]", "has no sizes");
  if (!(total == v.in(0).shape[axis])) {
    v.fail("sizes ", shape_text(a.sizes), " add up to ", total, ": ", v.operand_text());
  }
  return types;
}

loop::Nest nest_reshape(const NodeView& v) {
  loop::Nest nest;
  const Shape &from = v.in(0).shape, &to = v.out().shape;
  const std::vector<Dim> index = index_all(nest, to);
  loop::Access access{0, std::vector<Dim>(from.size(), Dim(0))};
  // Runs of axes with equal products map to each other alone, so that untouched axes stay affine.
  std::size_t i = 0, o = 0;
  while (i < from.size() || o < to.size()) {
    std::size_t i_end = i, o_end = o;
    Dim in_product = i < from.size() ? from[i_end++] : Dim(1);
    Dim out_product = o < to.size() ? to[o_end++] : Dim(1);
    while (!(in_product == out_product) && (i_end < from.size() || o_end < to.size())) {
      const bool grow_in =
          i_end < from.size() && (o_end >= to.size() || in_product.hi() <= out_product.hi());
      if (grow_in) {
        in_product = in_product * from[i_end++];
      } else {
        out_product = out_product * to[o_end++];
      }
    }
    Dim flat = 0;
    for (std::size_t k = o; k < o_end; ++k) flat = flat * to[k] + index[k];
    Dim stride = 1;
    for (std::size_t k = i_end; k-- > i;) {
      const Dim whole = stride.lo() > 0 ? plait::floordiv(flat, stride) : Dim(0);
      const bool first = k == i;
      access.index[k] = first || from[k].lo() <= 0 ? whole : plait::mod(whole, from[k]);
      stride = stride * from[k];
    }
    i = i_end;
    o = o_end;
  }
  nest.body = add_load(nest, std::move(access));
  return nest;
}

loop::Nest nest_transpose(const NodeView& v) {
  loop::Nest nest;
  const std::vector<Dim> index = index_all(nest, v.out().shape);
  const auto order = v.as<Order>().order;
  loop::Access access{0, std::vector<Dim>(index.size(), Dim(0))};
  for (std::size_t i = 0; i < order.size(); ++i) {
    access.index[at(axis_of(v, order[i], v.in(0).rank()))] = index[i];
  }
  nest.body = add_load(nest, std::move(access));
  return nest;
}

loop::Nest nest_broadcast(const NodeView& v) {
  loop::Nest nest;
  const Shape &from = v.in(0).shape, &to = v.out().shape;
  const std::vector<Dim> index = index_all(nest, to);
  loop::Access access{0, {}};
  for (std::size_t d = 0; d < from.size(); ++d) {
    const std::size_t o = to.size() - from.size() + d;
    access.index.push_back(from[d] == to[o] ? index[o] : Dim(0));
  }
  nest.body = add_load(nest, std::move(access));
  return nest;
}

loop::Nest nest_slice(const NodeView& v) {
  loop::Nest nest;
  const std::vector<Dim> index = index_all(nest, v.out().shape);
  const std::vector<Range> ranges = ranges_of(v);
  loop::Access access{0, {}};
  for (std::size_t i = 0; i < index.size(); ++i) {
    access.index.push_back(ranges[i].start + index[i] * Dim(ranges[i].step));
  }
  nest.body = add_load(nest, std::move(access));
  return nest;
}

loop::Nest nest_pad(const NodeView& v) {
  loop::Nest nest;
  const std::vector<Dim> index = index_all(nest, v.out().shape);
  const Padding p = padding_of(v);
  loop::Access access{0, {}, {}, v.as<Pad>().value};
  for (std::size_t i = 0; i < index.size(); ++i) {
    const Dim position = index[i] - p.low[i];
    const Dim gap(p.gap[i]);
    access.guards.push_back({position, 0, spread(v.in(0).shape[i], p.gap[i])});
    if (p.gap[i] > 1) access.guards.push_back({plait::mod(position, gap), 0, 1});
    access.index.push_back(plait::floordiv(position, gap));
  }
  nest.body = add_load(nest, std::move(access));
  return nest;
}

loop::Nest nest_flip(const NodeView& v) {
  loop::Nest nest;
  const std::vector<Dim> index = index_all(nest, v.out().shape);
  loop::Access access{0, index};
  for (std::int64_t axis : axes_of(v, v.as<Axes>().axes, v.in(0).rank())) {
    access.index[at(axis)] = v.in(0).shape[at(axis)] - 1 - index[at(axis)];
  }
  nest.body = add_load(nest, std::move(access));
  return nest;
}

loop::Nest nest_concat(const NodeView& v) {
  loop::Nest nest;
  const std::vector<Dim> index = index_all(nest, v.out().shape);
  const auto axis = at(axis_of(v, v.as<Axis>().axis, v.in(0).rank()));
  Dim start = 0;
  std::vector<loop::Expr> pieces;
  std::vector<Dim> ends;
  for (int i = 0; i < v.count(); ++i) {
    const Dim size = v.in(i).shape[axis];
    loop::Access access{i, index};
    access.index[axis] = index[axis] - start;
    access.guards.push_back({index[axis], start, start + size});
    pieces.push_back(add_load(nest, std::move(access)));
    start = start + size;
    ends.push_back(start);
  }
  nest.body = pieces.back();
  for (std::size_t i = pieces.size() - 1; i-- > 0;) {
    // The difference: an index itself may not be a float.
    nest.body = loop::select(loop::Expr::index(index[axis] - ends[i]) < 0, pieces[i], nest.body);
  }
  nest.joined = static_cast<int>(axis);
  return nest;
}

std::vector<Tensor> decompose_split(DecomposeCtx& c) {
  const auto a = c.as<Split>();
  const int axis = static_cast<int>(axis_of(c.node, a.axis, c.in().rank()));
  std::vector<Tensor> pieces;
  Dim start = 0;
  for (const Dim& size : a.sizes) {
    pieces.push_back(c.in().slice(axis, start, start + size));
    start = start + size;
  }
  return pieces;
}

Grads grad_transpose(GradCtx& g) {
  const auto order = g.as<Order>().order;
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    back[at(axis_of(g.node, order[i], g.type().rank()))] = static_cast<std::int64_t>(i);
  }
  return {g.dy().transpose(back)};
}

Grads grad_slice(GradCtx& g) {
  Pad p;
  const std::vector<Range> ranges = ranges_of(g.node);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Range& r = ranges[i];
    p.low.push_back(r.start);
    p.high.push_back(g.type().shape[i] - r.start - spread(r.count(), r.step));
    p.interior.push_back(r.step - 1);
  }
  if (std::all_of(p.interior.begin(), p.interior.end(), [](auto n) { return n == 0; })) {
    p.interior.clear();
  }
  return {pad(g.dy(), p)};
}

Grads grad_pad(GradCtx& g) {
  const Padding p = padding_of(g.node);
  Pad cut;
  Slice every;
  for (std::size_t i = 0; i < p.low.size(); ++i) {
    cut.low.push_back(Dim(0) - p.low[i]);
    cut.high.push_back(Dim(0) - p.high[i]);
    if (p.gap[i] == 1) continue;
    every.axes.push_back(static_cast<std::int64_t>(i));
    every.starts.push_back(0);
    every.stops.push_back(spread(g.type().shape[i], p.gap[i]));
    every.steps.push_back(p.gap[i]);
  }
  const Tensor inner = pad(g.dy(), cut);
  return {every.axes.empty() ? inner : slice(inner, every)};
}

Grads grad_concat(GradCtx& g) {
  const auto axis = axis_of(g.node, g.as<Axis>().axis, g.type().rank());
  Grads grads;
  Dim start = 0;
  for (int i = 0; i < g.node.count(); ++i) {
    const Dim size = g.type(i).shape[at(axis)];
    grads.push_back(g.wants(i) ? g.dy().slice(static_cast<int>(axis), start, start + size)
                               : Tensor());
    start = start + size;
  }
  return grads;
}

Grads grad_split(GradCtx& g) {
  std::vector<Operand> pieces;
  for (std::size_t i = 0; i < g.node.outputs.size(); ++i)
    pieces.push_back(g.dy(static_cast<int>(i)));
  return {concat.all(pieces, Axis{g.as<Split>().axis})[0]};
}

}  // namespace plait::ops
