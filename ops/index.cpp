// Gathers as nests with a loaded index, scatters written out, each the gradient of the other.
#include "ops/index.h"

#include "base/at.h"
#include "ops/lines.h"

namespace plait::ops {
namespace {

/// `shape` with the axis replaced by the sizes of `with`.
Shape replaced(const Shape& shape, std::int64_t axis, const Shape& with) {
  Shape out(shape.begin(), shape.begin() + axis);
  out.insert(out.end(), with.begin(), with.end());
  out.insert(out.end(), shape.begin() + axis + 1, shape.end());
  return out;
}

void want_indices(const NodeView& v, int i) { want_dtype(v, i, kIndexInts, "i32 or i64"); }

std::int64_t gather_axis(const NodeView& v) {
  return axis_of(v, v.as<GatherAxis>().axis, v.in(0).rank());
}
std::int64_t along_axis(const NodeView& v) { return axis_of(v, v.as<Axis>().axis, v.in(0).rank()); }

/// UserError unless the indices have x's sizes but for the axis.
void want_aligned(const NodeView& v) {
  want_indices(v, 1);
  const std::int64_t axis = along_axis(v);
  const Shape &x = v.in(0).shape, &indices = v.in(1).shape;
  want_rank(v, 1, v.in(0).rank());
  want_shape(v, 1, replaced(x, axis, {indices[at(axis)]}), "the sizes of x but for the axis");
}

/// UserError unless operand 0 is [B,T,?] and the ids are [B,J].
void want_columns(const NodeView& v) {
  want_rank(v, 0, 3);
  want_rank(v, 1, 2);
  want_indices(v, 1);
}

/// x read with one index loaded: x[.., row, ..] with row = indices[index].
loop::Nest gather_nest(const NodeView& v, std::int64_t axis) {
  loop::Nest nest;
  const std::vector<Dim> all = index_all(nest, v.out().shape);
  const auto middle = all.begin() + axis, behind = middle + v.in(1).rank();
  const Dim row = add_loaded(nest, "row", v.in(0).shape[at(axis)], {1, {middle, behind}});
  loop::Access x{0, {all.begin(), middle}};
  x.index.push_back(row);
  x.index.insert(x.index.end(), behind, all.end());
  nest.body = add_load(nest, std::move(x));
  return nest;
}

/// out = base, or zeros, with updates[u] added at place(u), u from the first to the last.
template <class Place>
void add_at(const Array* base, const Array& updates, Array& out, Place place) {
  visit_wide(out.dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> sums(at(out.count()));
    for (std::int64_t i = 0; base && i < out.count(); ++i) sums[at(i)] = element<T>(*base, i);
    for (std::int64_t u = 0; u < updates.count(); ++u) {
      T& sum = sums[at(place(u))];
      sum = loop::apply<T>(loop::ScalarOp::kAdd, sum, element<T>(updates, u), T(0));
    }
    for (std::int64_t i = 0; i < out.count(); ++i) set_element<T>(out, i, sums[at(i)]);
  });
}

std::int64_t index_in(const Array& indices, std::int64_t i, std::int64_t size) {
  const std::int64_t v = indices.integer(i);
  if (v < 0 || v >= size) throw RunError(str("index ", v, " is outside [0, ", size, ")"));
  return v;
}

Tensor zeros_like_operand(GradCtx& g) {
  const Shape shape = g.type(0).shape;
  return g.b.full(0, g.dy().dtype(), shape);
}

}  // namespace

std::vector<ir::Type> infer_gather(const NodeView& v) {
  want_indices(v, 1);
  return {{v.in(0).dtype, replaced(v.in(0).shape, gather_axis(v), v.in(1).shape)}};
}

std::vector<ir::Type> infer_embedding(const NodeView& v) {
  want_rank(v, 0, 2);
  want_indices(v, 1);
  return {{v.in(0).dtype, replaced(v.in(0).shape, 0, v.in(1).shape)}};
}

std::vector<ir::Type> infer_take_along(const NodeView& v) {
  want_aligned(v);
  return {{v.in(0).dtype, v.in(1).shape}};
}

std::vector<ir::Type> infer_scatter_add(const NodeView& v) {
  want_indices(v, 1);
  same_dtype(v, 0, 2);
  want_shape(v, 2, replaced(v.in(0).shape, gather_axis(v), v.in(1).shape),
             "x with the axis replaced by the axes of indices");
  return same_as_input(v);
}

std::vector<ir::Type> infer_scatter_add_along(const NodeView& v) {
  want_aligned(v);
  same_dtype(v, 0, 2);
  want_shape(v, 2, v.in(1).shape, "the shape of indices");
  return same_as_input(v);
}

std::vector<ir::Type> infer_one_hot(const NodeView& v) {
  const auto a = v.as<OneHot>();
  if (a.depth.hi() < 1) v.fail_hint("Write depth=10", "depth ", a.depth, " is not positive");
  Shape shape = v.in(0).shape;
  shape.push_back(a.depth);
  return {{a.dtype, shape}};
}

std::vector<ir::Type> infer_gather_columns(const NodeView& v) {
  want_columns(v);
  const Shape &x = v.in(0).shape, &ids = v.in(1).shape;
  want_shape(v, 1, {x[0], ids[1]}, "a row of ids per batch of x");
  return {{v.in(0).dtype, {x[0], x[1], ids[1]}}};
}

std::vector<ir::Type> infer_scatter_columns(const NodeView& v) {
  want_columns(v);
  const Dim depth = v.as<Depth>().depth;
  const Shape& c = v.in(0).shape;
  want_shape(v, 1, {c[0], c[2]}, "an id per batch and column of c");
  if (depth.hi() < 1) v.fail_hint("Write depth=10", "depth ", depth, " is not positive");
  return {{v.in(0).dtype, {c[0], c[1], depth}}};
}

loop::Nest nest_gather(const NodeView& v) { return gather_nest(v, gather_axis(v)); }
loop::Nest nest_embedding(const NodeView& v) { return gather_nest(v, 0); }

loop::Nest nest_take_along(const NodeView& v) {
  const std::int64_t axis = along_axis(v);
  loop::Nest nest;
  std::vector<Dim> index = index_all(nest, v.out().shape);
  const Dim row = add_loaded(nest, "row", v.in(0).shape[at(axis)], {1, index});
  index[at(axis)] = row;
  nest.body = add_load(nest, {0, index});
  return nest;
}

loop::Nest nest_one_hot(const NodeView& v) {
  loop::Nest nest;
  const std::vector<Dim> index = index_all(nest, v.out().shape);
  const Dim id =
      add_loaded(nest, "id", v.out().shape.back(), {0, {index.begin(), index.end() - 1}});
  nest.body = eq(loop::Expr::index(id - index.back()), 0);  // an index itself may not be a float
  return nest;
}

loop::Nest nest_gather_columns(const NodeView& v) {
  loop::Nest nest;
  const Shape& shape = v.out().shape;
  const Dim b = add_index(nest, "b", shape[0]);
  const Dim t = add_index(nest, "t", shape[1]);
  const Dim j = add_index(nest, "j", shape[2]);
  const Dim column = add_loaded(nest, "column", v.in(0).shape[2], {1, {b, j}});
  nest.body = add_load(nest, {0, {b, t, column}});
  return nest;
}

void eval_scatter_add(EvalCtx& c) {
  const Array &x = c.in(0), &indices = c.in(1), &updates = c.in(2);
  const Lines lines = lines_along(x.sizes(), gather_axis(c.node));
  add_at(&x, updates, c.out(), [&](std::int64_t u) {
    const std::int64_t inner = u % lines.inners, rest = u / lines.inners;
    const std::int64_t row = index_in(indices, rest % indices.count(), lines.size);
    return lines.at(rest / indices.count(), row, inner);
  });
}

void eval_scatter_add_along(EvalCtx& c) {
  const Array &x = c.in(0), &indices = c.in(1), &updates = c.in(2);
  const std::int64_t axis = along_axis(c.node);
  const Lines lines = lines_along(x.sizes(), axis);
  const std::int64_t block = indices.sizes()[at(axis)] * lines.inners;
  add_at(&x, updates, c.out(), [&](std::int64_t u) {
    return lines.at(u / block, index_in(indices, u, lines.size), u % lines.inners);
  });
}

void eval_scatter_columns(EvalCtx& c) {
  const Array &updates = c.in(0), &ids = c.in(1);
  const std::int64_t rows = updates.sizes()[1], columns = updates.sizes()[2];
  const std::int64_t depth = c.out().sizes()[2];
  add_at(nullptr, updates, c.out(), [&](std::int64_t u) {
    const std::int64_t row = u / columns;  // of all batches
    const std::int64_t id = row / rows * columns + u % columns;
    return row * depth + index_in(ids, id, depth);
  });
}

Grads grad_gather(GradCtx& g) {
  return {scatter_add(zeros_like_operand(g), g.in(1), g.dy(), g.as<GatherAxis>()), Tensor()};
}

Grads grad_embedding(GradCtx& g) {
  return {scatter_add(zeros_like_operand(g), g.in(1), g.dy()), Tensor()};
}

Grads grad_take_along(GradCtx& g) {
  return {scatter_add_along(zeros_like_operand(g), g.in(1), g.dy(), g.as<Axis>()), Tensor()};
}

Grads grad_scatter_add(GradCtx& g) {
  return {g.dy(), Tensor(), g.wants(2) ? gather(g.dy(), g.in(1), g.as<GatherAxis>()) : Tensor()};
}

Grads grad_scatter_add_along(GradCtx& g) {
  return {g.dy(), Tensor(), g.wants(2) ? take_along(g.dy(), g.in(1), g.as<Axis>()) : Tensor()};
}

Grads grad_gather_columns(GradCtx& g) {
  const Dim depth = g.type(0).shape[2];
  return {scatter_columns(g.dy(), g.in(1), Depth{depth}), Tensor()};
}

Grads grad_scatter_columns(GradCtx& g) { return {gather_columns(g.dy(), g.in(1)), Tensor()}; }

}  // namespace plait::ops
