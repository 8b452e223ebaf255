// Linear layers and losses, and the table of all families.
#include <cmath>

#include "io/chainer/functions.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/contract.h"
#include "ops/count.h"
#include "ops/loss.h"
#include "ops/table.h"

namespace plait::io::chainer {
namespace {

using Tensors = std::vector<Tensor>;

/// x [n, in], w [out, in], y [n, out]: n^2 = x * y / w.
std::int64_t rows_of(std::int64_t x, std::int64_t w, std::int64_t y) {
  const double square =
      w > 0 ? static_cast<double>(x) / static_cast<double>(w) * static_cast<double>(y) : 0;
  const auto n = static_cast<std::int64_t>(std::llround(std::sqrt(square)));
  if (n < 1 || x % n != 0 || y % n != 0 || times(x / n, y / n) != w) {
    fail("no number of rows explains ", x, " elements, ", w, " weights and ", y, " results");
  }
  return n;
}

Tensors linear(Call& c) {
  if (c.count() < 2) fail("has ", c.count(), " inputs, needs 2");
  const std::int64_t rows = rows_of(c.elements(0), c.elements(1), c.out_elements());
  const std::int64_t in = c.elements(0) / rows, out = c.out_elements() / rows;
  Tensor x;
  if (c.known(0)) {
    x = c.in(0);
    if (x.rank() == 1) x = x.reshape({c.batch(rows), in});
    if (x.rank() != 2) x = x.reshape({x.dim(0), -1});
  } else {
    x = c.as(0, {c.batch(rows), in});
  }
  if (c.number(x.dim(0)) != rows || c.number(x.dim(1)) != in) {
    fail("reads ", x.type(), ", its sizes say [", rows, ",", in, "]");
  }
  Tensors operands{x, c.as(1, {out, x.dim(1)})};
  if (c.count() > 2) operands.push_back(c.as(2, {out}));
  return c.b.add(ops::linear, operands, {});
}

/// A matrix that nothing has told yet, by the other one: `inner` is the size that both have.
Tensor told_matrix(Call& c, int i, std::int64_t inner, bool inner_last) {
  const std::int64_t all = c.elements(i);
  if (inner < 1 || all % inner != 0) fail(all, " elements in rows of ", inner);
  return c.as(i, inner_last ? Shape{all / inner, inner} : Shape{inner, all / inner});
}

// Matrices in the last two axes.
Tensors matrix_product(Call& c) {
  if (c.count() != 2) fail("has ", c.count(), " inputs, needs 2");
  const ops::Matmul product{c.flag("transa", false), c.flag("transb", false)};
  const bool lacks_a = !c.known(0) && c.known(1) && c.is_parameter(0);
  const bool lacks_b = !c.known(1) && c.is_parameter(1);
  const auto inner = [&](const Tensor& x, bool last) {
    if (x.rank() < 2) fail("reads ", x.type(), ", no matrix");
    return c.number(x.dim(last ? -1 : -2));
  };
  Tensor a, b;
  if (!lacks_a) a = c.in(0);
  if (lacks_b) b = told_matrix(c, 1, inner(a, !product.transpose_a), product.transpose_b);
  if (!lacks_b) b = c.in(1);
  if (lacks_a) a = told_matrix(c, 0, inner(b, product.transpose_b), !product.transpose_a);
  if (a.rank() < 2 || b.rank() < 2) fail("reads ", a.type(), " and ", b.type(), ", no matrices");
  const Tensor y = ops::matmul(a, b, product);
  if (!c.flag("transc", false)) return {y};
  std::vector<std::int64_t> order;
  for (int i = 0; i < y.rank(); ++i) order.push_back(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return {y.transpose(order)};
}

/// Labels of `count` whole numbers, of four bytes each or of eight.
Tensor labels(Call& c, int i, const Shape& shape) {
  const std::int64_t count = c.number(element_count(shape));
  return c.as(i, shape, c.bytes(i) == 8 * count ? DType::i64 : DType::i32);
}

Tensors softmax_cross_entropy(Call& c) {
  if (c.count() != 2) fail("has ", c.count(), " inputs, needs 2");
  if (c.has("class_weight")) fail("weighs its classes");
  const Tensor x = c.in(0);
  if (x.rank() < 2) fail("operand 0 is ", x.type(), ", needs a batch and classes");
  Shape targets = x.shape();
  targets.erase(targets.begin() + 1);
  const Tensor t = c.known(1) ? c.in(1) : labels(c, 1, targets);
  ops::CrossEntropy a{.axis = 1, .ignore_index = c.integer("ignore_label", -1)};
  const std::string reduce = c.word("reduce", "mean");
  if (reduce == "no") {
    a.reduction = "none";
    return {ops::cross_entropy(x, t, a)};
  }
  if (reduce != "mean") fail("reduces by ", reduce);
  if (c.flag("normalize", true)) return {ops::cross_entropy(x, t, a)};
  a.reduction = "sum";
  return {ops::cross_entropy(x, t, a) / ops::size_as_tensor(c.b, x.dim(0), x.dtype())};
}

Tensors mean_squared_error(Call& c) {
  if (c.count() != 2) fail("has ", c.count(), " inputs, needs 2");
  const Tensor a = c.like(0, 1);
  return {ops::mse_loss(a, c.like(1, 0))};
}

// log(1 + e^x) - x t, over the targets that are not -1.
Tensors sigmoid_cross_entropy(Call& c) {
  if (c.count() != 2) fail("has ", c.count(), " inputs, needs 2");
  const Tensor x = c.in(0);
  const Tensor t = c.known(1) ? c.in(1) : labels(c, 1, x.shape());
  const Tensor counts = ops::not_equal(t, c.b.constant(-1, t.dtype()));
  const Tensor loss = ops::softplus(x, ops::Softplus{.threshold = 1000}) - x * t.cast(x.dtype());
  const Tensor counted = where(counts, loss, 0.0);
  if (c.word("reduce", "mean") == "no") return {counted};
  Tensor count = ops::size_as_tensor(c.b, x.dim(0), x.dtype());
  if (c.flag("normalize", true)) {
    count = ops::maximum(counts.cast(x.dtype()).sum(), c.b.constant(1, x.dtype()));
  }
  return {counted.sum() / count};
}

constexpr Function kLossFunctions[] = {
    {"LinearFunction", linear},
    {"MatMul", matrix_product},
    {"SoftmaxCrossEntropy", softmax_cross_entropy},
    {"MeanSquaredError", mean_squared_error},
    {"SigmoidCrossEntropy", sigmoid_cross_entropy},
};

}  // namespace

std::span<const Function> loss_functions() { return kLossFunctions; }

const Function* find_function(std::string_view name) {
  for (const auto family : {loss_functions(), image_functions(), pointwise_functions(),
                            array_functions(), index_functions()}) {
    for (const Function& f : family) {
      if (f.name == name) return &f;
    }
  }
  static constexpr Function kOwn{"", plait_op};
  return find_op(name) ? &kOwn : nullptr;
}

}  // namespace plait::io::chainer
