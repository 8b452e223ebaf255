// Activations, arithmetic, reductions and dropout.
#include <limits>

#include "io/chainer/functions.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/random.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "ops/unary.h"

namespace plait::io::chainer {
namespace {

using Tensors = std::vector<Tensor>;

/// A function of one operand that is an op without attributes.
template <const Op& kOp>
Tensors unary(Call& c) {
  return {kOp(c.in(0))};
}

/// Two operands; one whose shape is not known has the other's when their bytes are equal.
struct Pair {
  Tensor a, b;
};
Pair pair_of(Call& c) {
  if (c.count() != 2) fail("has ", c.count(), " inputs, needs 2");
  const Tensor a = c.like(0, 1);
  return {a, c.like(1, 0)};
}

template <const Op& kOp>
Tensors binary(Call& c) {
  const Pair p = pair_of(c);
  return {kOp(p.a, p.b)};
}

Tensors leaky_relu(Call& c) {
  return {ops::leaky_relu(c.in(0), ops::LeakyRelu{.slope = c.real_number("slope", 0.2)})};
}

Tensors elu(Call& c) { return {ops::elu(c.in(0), ops::Elu{c.real_number("alpha", 1)})}; }

Tensors clipped_relu(Call& c) {
  return {ops::clip(c.in(0), ops::Clip{.lo = 0, .hi = c.real_number("cap")})};
}

// Chainer's has no threshold above which it is the identity.
Tensors softplus(Call& c) {
  const double beta = c.real_number("beta", 1);
  return {ops::softplus(c.in(0), ops::Softplus{.beta = beta, .threshold = 1000})};
}

Tensors softmax(Call& c) { return {ops::softmax(c.in(0), ops::Axis{c.integer("axis", 1)})}; }
Tensors log_softmax(Call& c) {
  return {ops::log_softmax(c.in(0), ops::Axis{c.integer("axis", 1)})};
}

Tensors multi_add(Call& c) {
  Tensor sum = c.in(0);
  for (int i = 1; i < c.count(); ++i) sum = sum + c.like(i, 0);
  return {sum};
}

Tensors add_constant(Call& c) { return {c.in(0) + c.real_number("value")}; }
Tensors sub_from_constant(Call& c) { return {c.real_number("value") - c.in(0)}; }
Tensors mul_constant(Call& c) { return {c.in(0) * c.real_number("value")}; }
Tensors div_from_constant(Call& c) { return {c.real_number("value") / c.in(0)}; }

// A square is spelled out: its gradient needs no logarithm and no zero to the power of 1.
Tensors pow_constant(Call& c) {
  const double power = c.real_number("value");
  if (power == 2) return {c.in(0).square()};
  return {ops::pow(c.in(0), power)};
}

template <const Op& kOp>
Tensors reduction(Call& c) {
  const Tensor x = c.in(0);
  return {kOp(x, ops::Reduction{c.list("axis"), c.flag("keepdims", false)})};
}

Tensors dropout(Call& c) {
  const double p = c.real_number("dropout_ratio");
  return {ops::dropout(c.in(0), c.key(), ops::Dropout{.p = p, .stream = c.stream()})};
}

constexpr Function kPointwiseFunctions[] = {
    {"ReLU", unary<ops::relu>},
    {"LeakyReLU", leaky_relu},
    {"ELU", elu},
    {"ClippedReLU", clipped_relu},
    {"Sigmoid", unary<ops::sigmoid>},
    {"Tanh", unary<ops::tanh>},
    {"Softplus", softplus},
    {"Softmax", softmax},
    {"LogSoftmax", log_softmax},
    {"Dropout", dropout},
    {"Add", binary<ops::add>},
    {"MultiAdd", multi_add},
    {"AddConstant", add_constant},
    {"Sub", binary<ops::sub>},
    {"SubFromConstant", sub_from_constant},
    {"Mul", binary<ops::mul>},
    {"MulConstant", mul_constant},
    {"Div", binary<ops::div>},
    {"DivFromConstant", div_from_constant},
    {"PowVarVar", binary<ops::pow>},
    {"PowVarConst", pow_constant},
    {"Maximum", binary<ops::maximum>},
    {"Minimum", binary<ops::minimum>},
    {"Neg", unary<ops::neg>},
    {"Absolute", unary<ops::abs>},
    {"Exp", unary<ops::exp>},
    {"Log", unary<ops::log>},
    {"Sqrt", unary<ops::sqrt>},
    {"Square", unary<ops::square>},
    {"Sin", unary<ops::sin>},
    {"Cos", unary<ops::cos>},
    {"Sum", reduction<ops::sum>},
    {"Mean", reduction<ops::mean>},
    {"Average", reduction<ops::mean>},
    {"Max", reduction<ops::max>},
    {"Min", reduction<ops::min>},
    {"LogSumExp", reduction<ops::logsumexp>},
};

}  // namespace

std::span<const Function> pointwise_functions() { return kPointwiseFunctions; }

}  // namespace plait::io::chainer
