// Looking back through the nodes that made a value.
#include "io/aicf/pattern.h"

#include <cmath>

#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/constant.h"
#include "ops/contract.h"
#include "ops/initializers.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace plait::io::aicf {
namespace {

bool is(const ir::Node& node, const Op& op) { return !node.opaque && node.op == op.name; }

template <ir::AttrStruct A>
A attrs_of(const ir::Node& node) {
  return ir::decode<A>(node.attrs, node.op);
}

}  // namespace

const ir::Node* Patterns::maker(ir::ValueId value, const Op& op) const {
  const ir::NodeId id = g_.value(value).producer;
  return id != ir::kNone && is(g_.node(id), op) ? &g_.node(id) : nullptr;
}

ir::ValueId Patterns::before_cast(ir::ValueId value, Match& covered) const {
  const ir::Node* node = maker(value, ops::cast);
  if (!node) return value;
  covered.nodes.push_back(g_.value(value).producer);
  return node->inputs[0];
}

std::optional<double> Patterns::constant(ir::ValueId value, Match& covered, int depth) const {
  const ir::NodeId id = g_.value(value).producer;
  if (id == ir::kNone || depth == 0) return std::nullopt;
  const ir::Node& node = g_.node(id);
  const auto rounded = [&](double x) {
    return g_.type(value).dtype == DType::f64 ? x : static_cast<double>(static_cast<float>(x));
  };
  const auto operand = [&](std::size_t i) { return constant(node.inputs[i], covered, depth - 1); };
  std::optional<double> found;
  if (is(node, ops::constant)) {
    const ir::Literal literal = attrs_of<ops::Constant>(node).value;
    if (literal.array->count() == 1) found = literal.array->real(0);
  } else if (is(node, ops::mul) || is(node, ops::div)) {
    const std::optional<double> x = operand(0), y = operand(1);
    if (x && y) found = rounded(is(node, ops::mul) ? *x * *y : *x / *y);
  } else if (is(node, ops::dim)) {
    found = static_cast<double>(attrs_of<ops::DimValue>(node).value.value());
  }
  if (found) covered.nodes.push_back(id);
  return found;
}

std::optional<double> Patterns::number(ir::ValueId value, Match& covered) const {
  for (const ir::StateUse& use : g_.states) {
    if (use.value != value) continue;
    for (const ir::NextState& next : g_.nexts) {
      if (next.state == use.state.name) return std::nullopt;
    }
    if (use.state.init.kind != init::Constant::kKind) return std::nullopt;
    return ir::decode<init::Constant>(use.state.init.attrs, "state").value;
  }
  return constant(value, covered);
}

std::optional<Patterns::Layer> Patterns::layer(ir::NodeId id) const {
  const ir::Node& node = g_.node(id);
  const bool product =
      is(node, ops::matmul) && attrs_of<ops::Matmul>(node) == ops::Matmul{.transpose_b = true};
  if (!is(node, ops::linear) && !product) return std::nullopt;
  if (g_.type(node.inputs[0]).rank() != 2 || g_.type(node.inputs[1]).rank() != 2) {
    return std::nullopt;
  }
  const ir::ValueId bias = node.inputs.size() == 3 ? node.inputs[2] : ir::kNone;
  return Layer{{{id}}, node.inputs[0], node.inputs[1], bias, node.outputs[0]};
}

std::optional<Patterns::ReluBwd> Patterns::relu_bwd(ir::NodeId id) const {
  const ir::Node& node = g_.node(id);
  if (!is(node, ops::where)) return std::nullopt;
  ReluBwd found{{{id}}, node.inputs[1], ir::kNone};
  const ir::Node* positive = maker(node.inputs[0], ops::greater);
  if (!positive || constant(node.inputs[2], found) != 0) return std::nullopt;
  if (constant(positive->inputs[1], found) != 0) return std::nullopt;
  found.saved = positive->inputs[0];
  found.nodes.push_back(g_.value(node.inputs[0]).producer);
  const ir::Type& type = g_.type(node.outputs[0]);
  if (!(g_.type(found.dy) == type) || !(g_.type(found.saved) == type)) return std::nullopt;
  return found;
}

std::optional<Patterns::MseGrad> Patterns::mse_grad(ir::NodeId id) const {
  const ir::Node& last = g_.node(id);
  if (!is(last, ops::cast) && !is(last, ops::mul)) return std::nullopt;
  MseGrad found{};
  const ir::Type& type = g_.type(last.outputs[0]);
  const ir::Node* mul = maker(before_cast(last.outputs[0], found), ops::mul);
  if (!mul) return std::nullopt;
  if (is(last, ops::mul)) found.nodes.push_back(id);
  if (is(last, ops::cast)) found.nodes.push_back(g_.value(last.inputs[0]).producer);
  for (int side = 0; side < 2; ++side) {
    const ir::ValueId value = mul->inputs[static_cast<std::size_t>(side)];
    const ir::Node* sub = maker(value, ops::sub);
    const std::optional<double> scale =
        constant(mul->inputs[static_cast<std::size_t>(1 - side)], found);
    if (!sub || !scale) continue;
    found.nodes.push_back(g_.value(value).producer);
    found.pred = before_cast(sub->inputs[0], found);
    found.target = before_cast(sub->inputs[1], found);
    const bool wide = g_.type(value).dtype == compute_dtype(type.dtype);
    if (!wide || !(g_.type(found.pred) == type) || !(g_.type(found.target) == type)) continue;
    const auto elements = static_cast<double>(type.elements().value());
    found.scale = *scale;
    found.by_default = type.dtype == DType::f64
                           ? *scale == 2 / elements
                           : static_cast<float>(*scale) == 2.0F / static_cast<float>(elements);
    return found;
  }
  return std::nullopt;
}

std::optional<Patterns::Product> Patterns::product(ir::NodeId id) const {
  const ir::Node& node = g_.node(id);
  if (!is(node, ops::matmul)) return std::nullopt;
  const auto attrs = attrs_of<ops::Matmul>(node);
  if (attrs.transpose_b || g_.type(node.inputs[0]).rank() != 2) return std::nullopt;
  if (g_.type(node.inputs[1]).rank() != 2) return std::nullopt;
  return Product{{{id}}, node.inputs[0], node.inputs[1], node.outputs[0], attrs.transpose_a};
}

std::optional<Patterns::RowSum> Patterns::row_sum(ir::NodeId id) const {
  const ir::Node& last = g_.node(id);
  RowSum found{{{id}}, ir::kNone, last.outputs[0]};
  const ir::Node* sum = is(last, ops::sum) ? &last : nullptr;
  if (is(last, ops::reshape)) {
    sum = maker(last.inputs[0], ops::sum);
    found.nodes.push_back(g_.value(last.inputs[0]).producer);
  }
  if (!sum || g_.type(found.result).rank() != 1) return std::nullopt;
  found.dy = sum->inputs[0];
  const auto axes = attrs_of<ops::Reduction>(*sum).axes;
  if (g_.type(found.dy).rank() != 2 || axes.size() != 1) return std::nullopt;
  return axes[0] == 0 || axes[0] == -2 ? std::optional(found) : std::nullopt;
}

std::optional<Patterns::Increment> Patterns::increment(ir::NodeId id) const {
  const ir::Node& node = g_.node(id);
  if (!is(node, ops::add) || !kIndexInts.has(g_.type(node.outputs[0]).dtype)) return std::nullopt;
  for (std::size_t side = 0; side < 2; ++side) {
    Increment found{{{id}}, node.inputs[side]};
    if (constant(node.inputs[1 - side], found) != 1) continue;
    if (g_.type(found.step) == g_.type(node.outputs[0])) return found;
  }
  return std::nullopt;
}

ir::ValueId Patterns::bare_count(ir::ValueId value, Match& covered) const {
  for (;;) {
    const ir::Node* node = maker(value, ops::cast);
    if (!node) node = maker(value, ops::reshape);
    if (!node || !kIndexInts.has(g_.type(node->inputs[0]).dtype)) return value;
    covered.nodes.push_back(g_.value(value).producer);
    value = node->inputs[0];
  }
}

}  // namespace plait::io::aicf
