// Adam written out in single ops, as io/aicf/step.cpp writes it.
#include <cmath>

#include "io/aicf/pattern.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/shape.h"
#include "ops/unary.h"

namespace plait::io::aicf {
namespace {

/// A constant is kept in the dtype it is used in: the double that was meant may be another.
bool same(double a, double b, DType dtype) {
  return dtype == DType::f64 ? a == b : static_cast<float>(a) == static_cast<float>(b);
}

/// The number of few digits that a constant of this dtype was made from.
double meant(double value, DType dtype) {
  if (dtype == DType::f64) return value;
  for (double digits = 1e3; digits < 1e10; digits *= 10) {
    const double few = std::round(value * digits) / digits;
    if (same(few, value, dtype)) return few;
  }
  return value;
}

}  // namespace

std::optional<std::pair<ir::ValueId, ir::ValueId>> Patterns::pair(ir::ValueId value, const Op& op,
                                                                  Match& covered) const {
  const ir::Node* node = maker(value, op);
  if (!node) return std::nullopt;
  covered.nodes.push_back(g_.value(value).producer);
  return std::pair{node->inputs[0], node->inputs.back()};
}

std::optional<Patterns::Scaled> Patterns::scaled(ir::ValueId value, Match& covered) const {
  const auto factors = pair(value, ops::mul, covered);
  if (!factors) return std::nullopt;
  const std::optional<double> by = constant(factors->second, covered);
  return by ? std::optional(Scaled{factors->first, *by}) : std::nullopt;
}

std::optional<Patterns::Average> Patterns::average(ir::ValueId value, Match& covered) const {
  const auto parts = pair(value, ops::add, covered);
  if (!parts) return std::nullopt;
  const auto old = scaled(parts->first, covered), change = scaled(parts->second, covered);
  if (!old || !change) return std::nullopt;
  const DType dtype = g_.type(value).dtype;
  const double beta = meant(old->by, dtype);
  if (!same(1 - beta, change->by, dtype)) return std::nullopt;
  return Average{old->value, change->value, beta};
}

std::optional<Patterns::Correction> Patterns::correction(ir::ValueId value) const {
  Correction found{};
  const ir::ValueId wide = before_cast(value, found);
  const DType dtype = g_.type(wide).dtype;
  const auto one = pair(wide, ops::reciprocal, found);
  const auto neg = one ? pair(one->first, ops::neg, found) : std::nullopt;
  const auto power = neg ? pair(neg->first, ops::expm1, found) : std::nullopt;
  const auto exponent = power ? scaled(power->first, found) : std::nullopt;
  if (!exponent) return std::nullopt;
  found.step = exponent->value;
  if (const auto view = pair(found.step, ops::reshape, found)) found.step = view->first;
  found.step = before_cast(found.step, found);
  found.beta = meant(std::exp(exponent->by), dtype);
  const bool counts = kIndexInts.has(g_.type(found.step).dtype);
  if (!counts || !same(std::log(found.beta), exponent->by, dtype)) return std::nullopt;
  return found;
}

std::optional<Patterns::Adam> Patterns::adam(ir::NodeId id) const {
  const ir::Node& last = g_.node(id);
  Adam found{};
  const ir::ValueId wide = before_cast(last.outputs[0], found);
  const DType dtype = g_.type(wide).dtype;
  // p - m' * bc1 / (sqrt(v' * bc2) + eps) * lr
  const auto sub = pair(wide, ops::sub, found);
  const auto change = sub ? scaled(sub->second, found) : std::nullopt;
  const auto quotient = change ? pair(change->value, ops::div, found) : std::nullopt;
  const auto m_hat = quotient ? pair(quotient->first, ops::mul, found) : std::nullopt;
  const auto below = quotient ? pair(quotient->second, ops::add, found) : std::nullopt;
  const auto eps = below ? constant(below->second, found) : std::nullopt;
  const auto root = below ? pair(below->first, ops::sqrt, found) : std::nullopt;
  const auto v_hat = root ? pair(root->first, ops::mul, found) : std::nullopt;
  if (!m_hat || !v_hat || !eps) return std::nullopt;
  found.next_m = m_hat->first;
  found.next_v = v_hat->first;
  const auto m = average(found.next_m, found), v = average(found.next_v, found);
  const auto square = v ? pair(v->change, ops::square, found) : std::nullopt;
  if (!m || !square || square->first != m->change) return std::nullopt;
  const auto scalar = [&](ir::ValueId value) {
    if (const auto view = pair(value, ops::reshape, found)) value = view->first;
    // What is left is the correction itself, which may end in a cast of its own.
    return correction(value) ? value : before_cast(value, found);
  };
  found.bc1 = scalar(m_hat->second);
  found.bc2 = scalar(v_hat->second);
  found.p = before_cast(sub->first, found);
  found.g = before_cast(m->change, found);
  found.m = before_cast(m->old, found);
  found.v = before_cast(v->old, found);
  found.lr = meant(change->by, dtype);
  found.beta1 = m->beta;
  found.beta2 = v->beta;
  found.eps = *eps;
  return found;
}

}  // namespace plait::io::aicf
