// Op types of the backward.
#include <algorithm>
#include <numeric>

#include "io/oneflow/traced.h"
#include "ops/ops.h"

namespace plait::io::oneflow {
namespace {

using I64s = std::vector<std::int64_t>;

I64s range(int begin, int end) {
  I64s out(static_cast<std::size_t>(std::max(end - begin, 0)));
  std::iota(out.begin(), out.end(), begin);
  return out;
}

/// out = a^T b over all axes but the last, flattened.
void matmul_grad_b(const OpContext& c) {
  const Tensor a = c.in("a"), b = c.in("b");
  if (a.rank() < 2 || b.rank() != a.rank()) c.wrong("takes ", a.type(), " and ", b.type());
  const auto flat = [&](const Tensor& x) {
    Dim rows = 1;
    for (int i = 0; i + 1 < x.rank(); ++i) rows = rows * x.dim(i);
    return x.rank() == 2 ? x : x.reshape({rows, x.dim(-1)});
  };
  const double alpha = c.attr_or("alpha", 1.0);
  if (alpha == 1) {
    c.out("out", ops::matmul, {flat(a), flat(b)}, ops::Matmul{.transpose_a = true});
    return;
  }
  const Tensor product = ops::matmul(flat(a), flat(b), ops::Matmul{.transpose_a = true});
  c.out("out", ops::mul, {product, c.b.constant(alpha, product.dtype())});
}

void reduce_sum_like(const OpContext& c) {
  const Tensor x = c.in("x"), like = c.in("like");
  I64s axes;
  for (std::int64_t a : c.attr<Sizes>("axis")) axes.push_back(c.axis(a, x.rank()));
  if (axes.empty()) {
    c.out("y", ops::copy, {x});
  } else {
    c.out("y", ops::sum, {x}, ops::Reduction{axes, like.rank() == x.rank()});
  }
}

void sigmoid_grad(const OpContext& c) {
  const Tensor s = ops::sigmoid(c.in("x"));
  c.out("dx", ops::mul, {c.in("dy"), s * (1 - s)});
}

void square_grad(const OpContext& c) { c.out("dx", ops::mul, {c.in("dy"), c.in("x") * 2}); }

void relu_grad(const OpContext& c) {
  const Tensor y = c.in("y"), dy = c.in("dy");
  c.out("dx", ops::where, {y > 0, dy, c.b.constant(0, dy.dtype())});
}

/// y is the divisor, z the quotient: dy = -dz z / y.
void div_grad(const OpContext& c) {
  const Tensor y = c.in("y");
  const Tensor full = c.in("dz") * c.in("z") / y;
  c.out("dy", ops::neg, {sum_to(full, y.shape())});
}

/// `prob` is the log of the probabilities.
void log_softmax_grad(const OpContext& c) {
  const Tensor dy = c.in("dy");
  c.out("dx", ops::sub, {dy, c.in("prob").exp() * dy.sum({-1}, true)});
}

void nll_grad(const OpContext& c) {
  const Tensor input = c.in("input"), target = c.in("target"), grad = c.in("out_grad");
  const auto ignored = static_cast<double>(c.attr<std::int64_t>("ignore_index"));
  const Tensor counts = ops::not_equal(target, c.b.constant(ignored, target.dtype()));
  const Tensor safe = where(counts, target, c.b.constant(0, target.dtype()));
  const Tensor hot = ops::one_hot(safe, ops::OneHot{input.dim(-1), input.dtype()});
  const Tensor each = where(counts, -grad, c.b.constant(0, grad.dtype()));
  c.out("in_grad", ops::mul, {hot, each.unsqueeze({target.rank()})});
}

/// What layer_norm's statistics make of x: (x - mean) inv_variance, and inv_variance, both with the
/// rank of x.
struct Normalised {
  Tensor x, inv;
  I64s axes;  // normalised
};
Normalised normalised(const OpContext& c) {
  const Tensor x = c.in("x");
  const std::int64_t attr = c.attr_or<std::int64_t>("begin_norm_axis", x.rank() - 1);
  const I64s axes = range(c.axis(attr, x.rank()), x.rank());
  const Tensor mean = c.in("mean").unsqueeze(axes);
  const Tensor inv = c.in("inv_variance").unsqueeze(axes);
  return {(x - mean) * inv, inv, axes};
}

void layer_norm_param_grad(const OpContext& c) {
  const Tensor dy = c.in("dy");
  const Normalised n = normalised(c);
  const I64s axes = range(0, dy.rank() - static_cast<int>(n.axes.size()));
  c.out("gamma_diff", ops::sum, {dy * n.x}, ops::Reduction{axes, false});
  c.out("beta_diff", ops::sum, {dy}, ops::Reduction{axes, false});
}

void layer_norm_grad(const OpContext& c) {
  const Normalised n = normalised(c);
  const Tensor dy = c.in("dy");
  const Tensor g = c.has("gamma") ? dy * c.in("gamma") : dy;
  const Tensor centred = g - g.mean(n.axes, true) - n.x * (g * n.x).mean(n.axes, true);
  if (!c.has("_add_to_output")) {
    c.out("dx", ops::mul, {centred, n.inv});
  } else {
    c.out("dx", ops::add, {centred * n.inv, c.in("_add_to_output")});
  }
}

/// gw and gu are per sequence, gw times w: the gradient of time_decay before the sum over the
/// batch. The op sums over the batch, so sequences stand as channels: [1, time, batch * channels].
void wkv_grad(const OpContext& c) {
  const Tensor k = c.in("k"), w = c.in("w");
  if (k.rank() != 3) c.wrong("k is ", k.type(), ", expected [batch, time, channels]");
  const Dim batch = k.dim(0), time = k.dim(1), channels = k.dim(2);
  const auto lanes = [&](const Tensor& x) {
    return x.transpose({1, 0, 2}).reshape({1, time, batch * channels});
  };
  const auto repeated = [&](const Tensor& x) {
    return x.broadcast_to({batch, channels}).reshape({batch * channels});
  };
  const std::vector<Tensor> grads =
      c.b.add(ops::wkv_backward,
              {lanes(k), lanes(c.in("v")), repeated(w), repeated(c.in("u")), Tensor(), Tensor(),
               Tensor(), lanes(c.in("gy"))},
              {});
  const auto back = [&](const Tensor& x) { return x.reshape({time, batch, channels}); };
  c.out("gk", ops::transpose, {back(grads[0])}, ops::Order{{1, 0, 2}});
  c.out("gv", ops::transpose, {back(grads[1])}, ops::Order{{1, 0, 2}});
  c.out("gw", ops::mul, {grads[2].reshape({batch, channels}), w});
  c.out("gu", ops::reshape, {grads[3]}, ops::ShapeTo{{batch, channels}});
}

void segment_sum(const OpContext& c) {
  const Tensor like = c.in("like");
  c.out("out", ops::scatter_add,
        {c.b.full(0, like.dtype(), like.shape()), c.in("segment_ids"), c.in("data")},
        ops::GatherAxis{c.axis(c.attr_or<std::int64_t>("axis", 0), like.rank())});
}

constexpr OpRule kBackwardRules[] = {
    {"broadcast_div_grad", div_grad},
    {"broadcast_matmul_grad_b", matmul_grad_b},
    {"layer_norm_grad", layer_norm_grad},
    {"layer_norm_param_grad", layer_norm_param_grad},
    {"log_softmax_grad", log_softmax_grad},
    {"nll_grad", nll_grad},
    {"reduce_sum_like", reduce_sum_like},
    {"relu_grad", relu_grad},
    {"sigmoid_grad", sigmoid_grad},
    {"sigmoid_v2_grad", sigmoid_grad},
    {"square_grad", square_grad},
    {"unsorted_segment_sum_like", segment_sum},
    {"wkv_grad", wkv_grad},
};

}  // namespace

const OpRule* find_backward_rule(std::string_view type) {
  for (const OpRule& rule : kBackwardRules) {
    if (rule.type == type) return &rule;
  }
  return nullptr;
}

const OpRule* find_rule(std::string_view type) {
  const OpRule* rule = find_forward_rule(type);
  return rule ? rule : find_backward_rule(type);
}

}  // namespace plait::io::oneflow
