// The operators and methods of Tensor, each one op of the table.
#include "ops/tensor.h"

#include "ops/arithmetic.h"
#include "ops/builder.h"
#include "ops/compare.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/unary.h"

namespace plait {

const ir::Type& Tensor::type() const {
  check(builder_ != nullptr, "an empty tensor has no type");
  return builder_->graph().type(id_);
}

const Dim& Tensor::dim(int axis) const {
  const int rank = type().rank();
  if (axis < -rank || axis >= rank) fail("axis ", axis, " of a tensor ", type());
  return shape()[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
}

Tensor Tensor::cast(DType dtype, Where w) const { return ops::cast(at(w), ops::Cast{dtype}); }
Tensor Tensor::reshape(Shape shape, Where w) const {
  return ops::reshape(at(w), ops::ShapeTo{std::move(shape)});
}
Tensor Tensor::transpose(std::vector<std::int64_t> order, Where w) const {
  return ops::transpose(at(w), ops::Order{std::move(order)});
}
Tensor Tensor::t(Where w) const {
  std::vector<std::int64_t> order;
  for (int i = 0; i < rank(); ++i) order.push_back(i);
  if (order.size() < 2) fail("t() of ", type(), ", which has fewer than two axes");
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(order, w);
}
Tensor Tensor::broadcast_to(Shape shape, Where w) const {
  return ops::broadcast_to(at(w), ops::ShapeTo{std::move(shape)});
}
Tensor Tensor::unsqueeze(std::vector<std::int64_t> axes, Where w) const {
  return ops::unsqueeze(at(w), ops::Axes{std::move(axes)});
}
Tensor Tensor::squeeze(std::vector<std::int64_t> axes, Where w) const {
  return ops::squeeze(at(w), ops::Axes{std::move(axes)});
}
Tensor Tensor::slice(int axis, Dim start, Dim stop, Where w) const {
  return ops::slice(at(w), ops::Slice{{axis}, {std::move(start)}, {std::move(stop)}, {}});
}
Tensor Tensor::sum(std::vector<std::int64_t> axes, bool keep, Where w) const {
  return ops::sum(at(w), ops::Reduction{std::move(axes), keep});
}
Tensor Tensor::mean(std::vector<std::int64_t> axes, bool keep, Where w) const {
  return ops::mean(at(w), ops::Reduction{std::move(axes), keep});
}
Tensor Tensor::max(std::vector<std::int64_t> axes, bool keep, Where w) const {
  return ops::max(at(w), ops::Reduction{std::move(axes), keep});
}
Tensor Tensor::exp(Where w) const { return ops::exp(at(w)); }
Tensor Tensor::log(Where w) const { return ops::log(at(w)); }
Tensor Tensor::sqrt(Where w) const { return ops::sqrt(at(w)); }
Tensor Tensor::rsqrt(Where w) const { return ops::rsqrt(at(w)); }
Tensor Tensor::square(Where w) const { return ops::square(at(w)); }
Operand Tensor::at(Where w) const { return Operand(*this, w.file, w.line); }

Tensor operator+(Operand a, Operand b) { return ops::add(a, b); }
Tensor operator-(Operand a, Operand b) { return ops::sub(a, b); }
Tensor operator*(Operand a, Operand b) { return ops::mul(a, b); }
Tensor operator/(Operand a, Operand b) { return ops::div(a, b); }
Tensor operator-(Operand a) { return ops::neg(a); }
Tensor operator<(Operand a, Operand b) { return ops::less(a, b); }
Tensor operator<=(Operand a, Operand b) { return ops::less_equal(a, b); }
Tensor operator>(Operand a, Operand b) { return ops::greater(a, b); }
Tensor operator>=(Operand a, Operand b) { return ops::greater_equal(a, b); }
Tensor equal(Operand a, Operand b) { return ops::equal(a, b); }
Tensor where(Operand condition, Operand a, Operand b) { return ops::where(condition, a, b); }

Tensor widen(const Tensor& x) { return narrow(x, compute_dtype(x.dtype())); }

Tensor narrow(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : x.cast(dtype); }

Tensor sum_to(const Tensor& x, const Shape& shape) {
  const Shape& from = x.shape();
  if (from == shape) return x;
  std::vector<std::int64_t> axes;
  const std::size_t lead = from.size() - shape.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < lead || !(from[i] == shape[i - lead])) axes.push_back(static_cast<std::int64_t>(i));
  }
  const Tensor summed = x.sum(axes, true);
  return summed.shape() == shape ? summed : summed.reshape(shape);
}

}  // namespace plait
