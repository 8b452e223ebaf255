// Types, nests and gradients of the reductions.
#include "ops/reduce.h"

#include "ops/compare.h"
#include "ops/count.h"
#include "ops/scan.h"

namespace plait::ops {
namespace {

std::vector<bool> reduced_axes(const NodeView& v) {
  std::vector<bool> reduced(v.in(0).shape.size());
  for (std::int64_t a : axes_of(v, v.as<Reduction>().axes, v.in(0).rank())) {
    reduced[static_cast<std::size_t>(a)] = true;
  }
  return reduced;
}

/// The operand's shape with size 1 along the reduced axes.
Shape kept_shape(const NodeView& v) {
  const std::vector<bool> reduced = reduced_axes(v);
  Shape shape = v.in(0).shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (reduced[i]) shape[i] = 1;
  }
  return shape;
}

/// How many elements make one of the result.
Dim reduced_count(const NodeView& v) {
  const std::vector<bool> reduced = reduced_axes(v);
  Dim n = 1;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i]) n = n * v.in(0).shape[i];
  }
  return n;
}

Grads share_among(GradCtx& g, const Tensor& mask) {
  const DType dtype = g.dy().dtype();
  const Tensor count = mask.cast(dtype).sum(g.as<Reduction>().axes, true);
  return {where(mask, kept(g, g.dy()) / count, 0.0)};
}

/// t, and 0 where it is infinite: what may be subtracted from an infinity without giving NaN.
Tensor zero_if_infinite(const Tensor& t) { return where(is_inf(t), 0.0, t); }

Grads softmax_times_dy(GradCtx& g, const Tensor& x, const Tensor& y) {
  // Divided by its own sum: a y that was rounded to a half only shifts the exponent.
  const Tensor e = (x - zero_if_infinite(kept(g, y))).exp();
  const Tensor total = e.sum(g.as<Reduction>().axes, true);
  const Tensor softmax = e / where(equal(total, 0), 1, total);
  return {softmax * kept(g, g.dy())};
}

/// Where the extremum is.
Tensor extremal(GradCtx& g) {
  const Tensor x = g.in();
  return equal(x, kept(g, g.out()));
}

}  // namespace

std::vector<ir::Type> infer_reduction(const NodeView& v) {
  const std::vector<bool> reduced = reduced_axes(v);
  const bool keep = v.as<Reduction>().keep;
  Shape shape;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) {
      shape.push_back(v.in(0).shape[i]);
    } else if (keep) {
      shape.push_back(1);
    }
  }
  return {{v.in(0).dtype, shape}};
}

std::vector<ir::Type> infer_choice(const NodeView& v) {
  if (reduced_count(v).is(0)) v.fail("has no elements to choose from: ", v.operand_text());
  return infer_reduction(v);
}

loop::Nest nest_reduction(const NodeView& v, loop::Reduce reduce) {
  const std::vector<bool> reduced = reduced_axes(v);
  const bool keep = v.as<Reduction>().keep;
  const Shape& shape = v.in(0).shape;
  loop::Nest nest;
  loop::Access x{0, Shape(shape.size())};
  const auto name = [](std::size_t i) { return std::string(1, static_cast<char>('a' + i)); };
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) {
      x.index[i] = add_index(nest, name(i), shape[i]);
    } else if (keep) {
      add_index(nest, name(i) + "1", 1);  // an axis of size 1
    }
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (reduced[i]) x.index[i] = add_index(nest, name(i), shape[i], true);
  }
  nest.body = add_load(nest, std::move(x));
  nest.reduce = reduce;
  return nest;
}

loop::Nest nest_mean(const NodeView& v) {
  loop::Nest nest = nest_reduction(v, loop::Reduce::kSum);
  const Dim n = reduced_count(v);
  const loop::Expr count =
      n.is_const() ? loop::Expr(static_cast<double>(n.value())) : loop::Expr::index(n);
  nest.finish = loop::Expr::acc() / count;
  return nest;
}

Tensor kept(const GradCtx& g, const Tensor& t) {
  const Shape shape = kept_shape(g.node);
  return t.shape() == shape ? t : t.reshape(shape);
}

Grads grad_sum(GradCtx& g) {
  const Shape shape = g.type().shape;
  return {kept(g, g.dy()).broadcast_to(shape)};
}

Grads grad_mean(GradCtx& g) {
  const Shape shape = g.type().shape;
  const Tensor count = size_as_tensor(g.b, reduced_count(g.node), g.dy().dtype());
  return {kept(g, g.dy() / count).broadcast_to(shape)};
}

Grads grad_extremum(GradCtx& g) { return share_among(g, extremal(g)); }
Grads grad_extremum_by_mask(GradCtx& g) { return share_among(g, g.save("mask", extremal(g))); }

// The slope towards an element is the product of all others, which is the product of those before
// it and those after it along one axis: no division, so zeros are no exception. Several axes are
// multiplied one after the other, and the chain rule goes back through them.
Grads grad_prod(GradCtx& g) {
  const auto axes = axes_of(g.node, g.as<Reduction>().axes, g.type().rank());
  std::vector<Tensor> partial{g.in()};
  for (std::size_t i = 1; i < axes.size(); ++i) {
    partial.push_back(prod(partial.back(), Reduction{{axes[i - 1]}, true}));
  }
  Tensor slope = kept(g, g.dy());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const Tensor before = cumprod(partial[i], Cumulative{axes[i], false, true});
    const Tensor after = cumprod(partial[i], Cumulative{axes[i], true, true});
    slope = slope * (before * after);
  }
  return {slope};
}

std::vector<Tensor> decompose_logsumexp(DecomposeCtx& c) {
  const auto a = c.as<Reduction>();
  const Tensor x = c.in();
  const Tensor most = zero_if_infinite(x.max(a.axes, true));
  const Tensor y = (x - most).exp().sum(a.axes, true).log() + most;
  return {y.shape() == c.node.out().shape ? y : y.reshape(c.node.out().shape)};
}

Grads grad_logsumexp(GradCtx& g) {
  const Tensor x = g.in();
  return softmax_times_dy(g, x, g.out());
}

Grads grad_logsumexp_anew(GradCtx& g) {
  const Tensor x = g.in();
  return softmax_times_dy(g, x, logsumexp(x, g.as<Reduction>()));
}

}  // namespace plait::ops
