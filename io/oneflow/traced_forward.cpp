// Op types of the forward, and those that both directions use.
#include <algorithm>
#include <numeric>

#include "io/oneflow/traced.h"
#include "ops/count.h"
#include "ops/ops.h"

namespace plait::io::oneflow {
namespace {

using I64s = std::vector<std::int64_t>;

template <const Op& op>
void unary(const OpContext& c) {
  const bool plain = c.has("x");
  c.out(c.op.outputs[0].key, op, {c.in(plain ? "x" : "in")});
}

template <const Op& op>
void binary(const OpContext& c) {
  c.out("z", op, {c.in("x"), c.in("y")});
}

/// A vector along one axis of a tensor.
void bias_add(const OpContext& c) {
  const Tensor x = c.in("a"), bias = c.in("b");
  if (bias.rank() != 1) c.wrong("adds ", bias.type(), ", expected a vector");
  const int axis = c.axis(c.attr_or("axis", std::int64_t{1}), x.rank());
  Shape along(static_cast<std::size_t>(x.rank() - axis), Dim(1));
  along[0] = bias.dim(0);
  c.out("out", ops::add, {x, bias.reshape(along)});
}

void add_n(const OpContext& c) {
  const std::vector<Tensor> xs = c.list("in");
  if (xs.empty()) c.wrong("adds nothing");
  if (xs.size() == 1) {
    c.out("out", ops::copy, xs);
    return;
  }
  Tensor sum = xs[0];
  for (std::size_t i = 1; i + 1 < xs.size(); ++i) sum = sum + xs[i];
  c.out("out", ops::add, {sum, xs.back()});
}

/// The number of a scalar op.
double operand_of(const OpContext& c) {
  if (c.attr_or("has_float_operand", false)) return c.attr<double>("float_operand");
  return static_cast<double>(c.attr<std::int64_t>("int_operand"));
}

template <const Op& op>
void scalar(const OpContext& c) {
  const Tensor x = c.in("in");
  c.out("out", op, {x, c.b.constant(operand_of(c), x.dtype())});
}

/// A factor 1 / (length of the product it scales) is that size, not the number: it follows --set.
void scalar_mul(const OpContext& c) {
  const Tensor x = c.in("in");
  const double number = operand_of(c);
  const auto length = c.summed.find(x.id());
  if (length != c.summed.end() && number != 0 && number < 1 &&
      number * static_cast<double>(evaluate(length->second, c.sizes.bindings())) == 1.0) {
    if (c.factors.emplace(number, length->second).second) {
      c.import.notes.push_back(str("the factor ", real_text(number), " of ", c.op.name,
                                   " is taken for 1/", length->second,
                                   ", the length of the product it scales"));
    }
  }
  const auto size = c.factors.find(number);
  if (size != c.factors.end() && is_float(x.dtype())) {
    c.out("out", ops::div, {x, ops::size_as_tensor(c.b, size->second, x.dtype())});
  } else {
    scalar<ops::mul>(c);
  }
}

void matmul(const OpContext& c) {
  const Tensor a = c.in("a"), b = c.in("b");
  const ops::Matmul attrs{c.attr_or("transpose_a", false), c.attr_or("transpose_b", false)};
  const double alpha = c.attr_or("alpha", 1.0);
  if (alpha != 1) {
    const Tensor product = ops::matmul(a, b, attrs);
    c.out("out", ops::mul, {product, c.b.constant(alpha, product.dtype())});
    return;
  }
  const Tensor product = c.out("out", ops::matmul, {a, b}, attrs);
  const Dim& length = a.dim(attrs.transpose_a ? -2 : -1);
  if (!length.is_const()) c.summed.emplace(product.id(), length);
}

void gather(const OpContext& c) {
  const Tensor x = c.in("in");
  c.out("out", ops::gather, {x, c.in("indices")},
        ops::GatherAxis{c.axis(c.attr_or<std::int64_t>("axis", 0), x.rank())});
}

void layer_norm(const OpContext& c) {
  const Tensor x = c.in("x");
  const int begin = c.axis(c.attr<std::int64_t>("begin_norm_axis"), x.rank());
  const double eps = c.attr<double>("epsilon");
  I64s axes(static_cast<std::size_t>(x.rank() - begin));
  std::iota(axes.begin(), axes.end(), begin);
  std::vector<Tensor> operands{x, Tensor(), Tensor()};
  if (c.has("gamma")) operands[1] = c.in("gamma");
  if (c.has("beta")) operands[2] = c.in("beta");
  c.out("y", ops::layer_norm, operands, ops::LayerNorm{x.rank() - begin, eps});
  const Tensor mean = x.mean(axes, true);
  const Tensor variance = (x - mean).square().mean(axes);
  c.out("mean", ops::squeeze, {mean}, ops::Axes{axes});
  c.out("inv_variance", ops::rsqrt, {variance + eps});
}

void constant(const OpContext& c) {
  const Sizes& sizes = c.attr<Sizes>("shape");
  const DType dtype = c.attr<DType>("dtype");
  const double value = c.attr_or("is_floating_value", true)
                           ? c.attr<double>("floating_value")
                           : static_cast<double>(c.attr<std::int64_t>("integer_value"));
  c.out("out", ops::broadcast_to, {c.b.constant(value, dtype)}, ops::ShapeTo{c.sizes.feed(sizes)});
}

void ones_like(const OpContext& c) {
  const Tensor like = c.in("like");
  c.out("out", ops::broadcast_to, {c.b.constant(1, like.dtype())}, ops::ShapeTo{like.shape()});
}

void pad(const OpContext& c) {
  const Tensor x = c.in("x");
  const Sizes &before = c.attr<Sizes>("padding_before"), &after = c.attr<Sizes>("padding_after");
  const double value =
      is_float(x.dtype())
          ? c.attr_or("floating_constant_value", 0.0)
          : static_cast<double>(c.attr_or<std::int64_t>("integral_constant_value", 0));
  c.out("y", ops::pad, {x}, ops::Pad{shape_of(before), shape_of(after), {}, value});
}

void reduce_sum(const OpContext& c) {
  const Tensor x = c.in("input_tensor");
  I64s axes;
  for (std::int64_t a : c.attr<Sizes>("axis")) axes.push_back(c.axis(a, x.rank()));
  c.out("output_tensor", ops::sum, {x}, ops::Reduction{axes, c.attr_or("keepdims", false)});
}

void reshape(const OpContext& c) {
  const Tensor x = c.in("in");
  const Sizes& target = c.attr<Sizes>("shape");
  const std::optional<Shape> shape = reshaped(x.shape(), target, c.sizes.bindings());
  if (!shape) c.wrong("reshapes ", x.type(), " to ", shape_text(target));
  c.out("out", ops::reshape, {x}, ops::ShapeTo{*shape});
}

void transpose(const OpContext& c) {
  c.out("output", ops::transpose, {c.in("input")}, ops::Order{c.attr<Sizes>("perm")});
}

void broadcast_like(const OpContext& c) {
  Tensor x = c.in("x");
  const Tensor like = c.in("like");
  I64s axes;
  for (std::int64_t a : c.attr<Sizes>("broadcast_axes")) axes.push_back(c.axis(a, like.rank()));
  if (x.rank() < like.rank()) x = x.unsqueeze(axes);
  c.out("y", ops::broadcast_to, {x}, ops::ShapeTo{like.shape()});
}

void one_hot(const OpContext& c) {
  const DType dtype = c.attr<DType>("dtype");
  const bool real = is_float(dtype);
  const auto number = [&](std::string_view what) {
    const std::string key = str(real ? "floating_" : "integer_", what, "_value");
    return real ? c.attr<double>(key) : static_cast<double>(c.attr<std::int64_t>(key));
  };
  const ops::OneHot attrs{c.sizes.depth(c.attr<std::int64_t>("depth")), dtype};
  const double on = number("on"), off = number("off");
  if (on == 1 && off == 0) {
    c.out("out", ops::one_hot, {c.in("indices")}, attrs);
    return;
  }
  const Tensor hot = ops::one_hot(c.in("indices"), attrs);
  c.out("out", ops::add, {hot * c.b.constant(on - off, dtype), c.b.constant(off, dtype)});
}

void cast(const OpContext& c) {
  c.out("out", ops::cast, {c.in("in")}, ops::Cast{c.attr<DType>("dtype")});
}

void log_softmax(const OpContext& c) { c.out("prob", ops::log_softmax, {c.in("in")}, ops::Axis{}); }

/// output = -input[target], 0 where the target is ignored; out_weight = 1 or 0.
void nll(const OpContext& c) {
  const Tensor input = c.in("input"), target = c.in("target");
  const auto ignored = static_cast<double>(c.attr<std::int64_t>("ignore_index"));
  const Tensor counts = ops::not_equal(target, c.b.constant(ignored, target.dtype()));
  const Tensor safe = where(counts, target, c.b.constant(0, target.dtype()));
  const Tensor weight = c.out("out_weight", ops::cast, {counts}, ops::Cast{input.dtype()});
  const Tensor taken =
      ops::take_along(input, safe.unsqueeze({target.rank()}), ops::Axis{-1}).squeeze({-1});
  c.out("output", ops::mul, {-taken, weight});
}

/// The log gives time_decay itself; the op's w is -exp of it.
void wkv(const OpContext& c) {
  const Tensor w = -c.in("w").exp();
  c.out("y", ops::wkv, {c.in("k"), c.in("v"), w, c.in("u")});
}

constexpr OpRule kForwardRules[] = {
    {"add_n", add_n},
    {"batch_matmul", matmul},
    {"bias_add", bias_add},
    {"broadcast_add", binary<ops::add>},
    {"broadcast_div", binary<ops::div>},
    {"broadcast_like", broadcast_like},
    {"broadcast_matmul", matmul},
    {"broadcast_mul", binary<ops::mul>},
    {"broadcast_sub", binary<ops::sub>},
    {"cast", cast},
    {"constant", constant},
    {"exp", unary<ops::exp>},
    {"gather", gather},
    {"gelu", unary<ops::gelu>},
    {"hierarchical_parallel_cast", unary<ops::copy>},  // another layout, the same values
    {"identity", unary<ops::copy>},
    {"layer_norm", layer_norm},
    {"log", unary<ops::log>},
    {"log_softmax", log_softmax},
    {"matmul", matmul},
    {"negative", unary<ops::neg>},
    {"nll", nll},
    {"one_hot", one_hot},
    {"ones_like", ones_like},
    {"pad", pad},
    {"reduce_sum", reduce_sum},
    {"relu", unary<ops::relu>},
    {"reshape", reshape},
    {"scalar_add", scalar<ops::add>},
    {"scalar_mul", scalar_mul},
    {"sigmoid", unary<ops::sigmoid>},
    {"sigmoid_v2", unary<ops::sigmoid>},
    {"silu", unary<ops::silu>},
    {"sqrt", unary<ops::sqrt>},
    {"square", unary<ops::square>},
    {"tanh", unary<ops::tanh>},
    {"transpose", transpose},
    {"wkv", wkv},
};

}  // namespace

const OpRule* find_forward_rule(std::string_view type) {
  for (const OpRule& rule : kForwardRules) {
    if (rule.type == type) return &rule;
  }
  return nullptr;
}

}  // namespace plait::io::oneflow
