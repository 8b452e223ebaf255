// Scans written out: one line at a time, in double or int64, each element rounded once.
#include "ops/scan.h"

#include <cmath>

#include "ops/lines.h"
#include "ops/shape.h"

namespace plait::ops {
namespace {

/// Calls f(place) for the elements of every line, in the order of the scan; `start` before each.
template <class Start, class F>
void walk_lines(const Lines& lines, bool reverse, Start start, F f) {
  for (std::int64_t outer = 0; outer < lines.outers; ++outer) {
    for (std::int64_t inner = 0; inner < lines.inners; ++inner) {
      start();
      for (std::int64_t s = 0; s < lines.size; ++s) {
        f(lines.at(outer, reverse ? lines.size - 1 - s : s, inner));
      }
    }
  }
}

void accumulate(EvalCtx& c, loop::ScalarOp op, int initial) {
  const auto a = c.as<Cumulative>();
  const Array& x = c.in(0);
  const Lines lines = lines_along(x.sizes(), axis_of(c.node, a.axis, c.node.in(0).rank()));
  visit_wide(x.dtype(), [&]<class T>(TypeTag<T>) {
    T acc{};
    walk_lines(
        lines, a.reverse, [&] { acc = T(initial); },
        [&](std::int64_t i) {
          const T next = loop::apply<T>(op, acc, element<T>(x, i), T(0));
          set_element<T>(c.out(), i, a.exclusive ? acc : next);
          acc = next;
        });
  });
}

void choose(EvalCtx& c, bool largest) {
  const Array& x = c.in(0);
  const auto axis = axis_of(c.node, c.as<Choice>().axis, c.node.in(0).rank());
  const Lines lines = lines_along(x.sizes(), axis);
  visit_wide(x.dtype(), [&]<class T>(TypeTag<T>) {
    const auto beats = [&](T a, T b) {
      if constexpr (std::floating_point<T>) {
        if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
      }
      return largest ? a > b : a < b;
    };
    for (std::int64_t line = 0; line < lines.outers * lines.inners; ++line) {
      const std::int64_t outer = line / lines.inners, inner = line % lines.inners;
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < lines.size; ++i) {
        const T rival = element<T>(x, lines.at(outer, i, inner));
        if (beats(rival, element<T>(x, lines.at(outer, best, inner)))) best = i;
      }
      c.out().set_integer(line, best);
    }
  });
}

/// Element i becomes that of the scan's next (or previous) step, 0 beyond the end.
Tensor neighbour(const Tensor& x, std::int64_t axis, bool reverse, bool next) {
  const int by = next != reverse ? -1 : 1;
  Pad shift{Shape(x.shape().size(), 0), Shape(x.shape().size(), 0), {}, 0};
  shift.low[static_cast<std::size_t>(axis)] = by;
  shift.high[static_cast<std::size_t>(axis)] = -by;
  return pad(x, shift);
}

// What reaches step i is its own gradient and, through a[i+1], what reaches the next step: the same
// recurrence the other way round.
Grads linear_scan_slopes(GradCtx& g, const Tensor& a, const Tensor& y) {
  const auto r = g.as<Recurrence>();
  const auto axis = axis_of(g.node, r.axis, g.type().rank());
  const Tensor dy = g.dy();
  const Tensor reaching =
      linear_scan(neighbour(a, axis, r.reverse, true), dy, Recurrence{r.axis, !r.reverse});
  if (!g.wants(0)) return {Tensor(), reaching};
  return {reaching * neighbour(y, axis, r.reverse, false), reaching};
}

}  // namespace

std::vector<ir::Type> infer_cumulative(const NodeView& v) {
  axis_of(v, v.as<Cumulative>().axis, v.in(0).rank());
  return same_as_input(v);
}

std::vector<ir::Type> infer_recurrence(const NodeView& v) {
  axis_of(v, v.as<Recurrence>().axis, v.in(0).rank());
  same_dtype(v, 0, 1);
  want_shape(v, 1, v.in(0).shape, "the shape of a");
  return same_as_input(v);
}

std::vector<ir::Type> infer_where_extremum(const NodeView& v) {
  const auto a = v.as<Choice>();
  const auto axis = static_cast<std::size_t>(axis_of(v, a.axis, v.in(0).rank()));
  Shape shape = v.in(0).shape;
  if (shape[axis].is(0)) v.fail("has no elements to choose from: ", v.operand_text());
  if (a.keep) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return {{DType::i64, shape}};
}

void eval_cumsum(EvalCtx& c) { accumulate(c, loop::ScalarOp::kAdd, 0); }
void eval_cumprod(EvalCtx& c) { accumulate(c, loop::ScalarOp::kMul, 1); }
void eval_argmax(EvalCtx& c) { choose(c, true); }
void eval_argmin(EvalCtx& c) { choose(c, false); }

void eval_linear_scan(EvalCtx& c) {
  const auto r = c.as<Recurrence>();
  const Array &a = c.in(0), &b = c.in(1);
  double y = 0;
  walk_lines(
      lines_along(a.sizes(), axis_of(c.node, r.axis, c.node.in(0).rank())), r.reverse,
      [&] { y = 0; }, [&](std::int64_t i) { c.out().set(i, y = a.real(i) * y + b.real(i)); });
}

Grads grad_cumsum(GradCtx& g) {
  auto back = g.as<Cumulative>();
  back.reverse = !back.reverse;
  return {cumsum(g.dy(), back)};
}

// dx[k] = (product of the elements before k) * (sum over later i of dy[i] times the product of the
// elements between): the sum is a recurrence from the end. No division, so zeros are no exception.
Grads grad_cumprod(GradCtx& g) {
  const auto a = g.as<Cumulative>();
  const auto axis = axis_of(g.node, a.axis, g.type().rank());
  const Tensor x = g.in();
  const Tensor dy = a.exclusive ? neighbour(g.dy(), axis, a.reverse, true) : g.dy();
  const Tensor later =
      linear_scan(neighbour(x, axis, a.reverse, true), dy, Recurrence{a.axis, !a.reverse});
  return {cumprod(x, Cumulative{a.axis, a.reverse, true}) * later};
}

Grads grad_linear_scan(GradCtx& g) {
  const Tensor a = g.in(0);
  return linear_scan_slopes(g, a, g.wants(0) ? g.out() : Tensor());
}

Grads grad_linear_scan_anew(GradCtx& g) {
  const Tensor a = g.in(0);
  const Tensor y = g.wants(0) ? linear_scan(a, g.in(1), g.as<Recurrence>()) : Tensor();
  return linear_scan_slopes(g, a, y);
}

}  // namespace plait::ops
