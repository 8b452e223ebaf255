// Rules of arithmetic, for floats and integers. A float keeps its -0.0: x + 0.0 stays, since
// -0.0 + 0.0 is 0.0.
#include <cmath>

#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/unary.h"
#include "passes/rule.h"

namespace plait {
namespace {

using Outcome = std::optional<Replacement>;

bool is_number(const std::optional<double>& v, double number) {
  return v && *v == number && std::signbit(*v) == std::signbit(number);
}

/// The other operand when one is `number`, for operations that commute.
Outcome drop(const Match& m, double number) {
  if (is_number(m.uniform(1), number)) return m.only(0);
  if (is_number(m.uniform(0), number)) return m.only(1);
  return {};
}

/// The operand of the op that makes operand i; kNone when another makes it.
ir::ValueId under(const Match& m, int i, const Op& op) {
  const ir::Node* maker = m.made_by(i, op);
  return maker ? maker->inputs[0] : ir::kNone;
}

Outcome add_zero(const Match& m) {
  if (!m.is(ops::add)) return {};
  return drop(m, is_float(m.out().dtype) ? -0.0 : 0.0);
}

Outcome sub_zero(const Match& m) {
  if (!m.is(ops::sub) || !is_number(m.uniform(1), 0.0)) return {};
  return m.only(0);
}

Outcome mul_one(const Match& m) {
  if (!m.is(ops::mul)) return {};
  return drop(m, 1);
}

Outcome mul_zero(const Match& m) {
  if (!m.is(ops::mul) || is_float(m.out().dtype)) return {};
  for (int i : {0, 1}) {
    if (is_number(m.uniform(i), 0)) return m.only(i);
  }
  return {};
}

Outcome div_one(const Match& m) {
  if (!m.is(ops::div) || !is_number(m.uniform(1), 1)) return {};
  return m.only(0);
}

Outcome pow_one(const Match& m) {
  if (!m.is(ops::pow) || !is_number(m.uniform(1), 1)) return {};
  return m.only(0);
}

Outcome neg_neg(const Match& m) {
  if (!m.is(ops::neg)) return {};
  const ir::ValueId x = under(m, 0, ops::neg);
  return x == ir::kNone ? Outcome() : Outcome(x);
}

Outcome add_neg(const Match& m) {
  if (!m.is(ops::add)) return {};
  if (const ir::ValueId b = under(m, 1, ops::neg); b != ir::kNone) {
    return m.instead(ops::sub, {m.operand(0), b});
  }
  if (const ir::ValueId a = under(m, 0, ops::neg); a != ir::kNone) {
    return m.instead(ops::sub, {m.operand(1), a});
  }
  return {};
}

Outcome sub_neg(const Match& m) {
  if (!m.is(ops::sub)) return {};
  const ir::ValueId b = under(m, 1, ops::neg);
  return b == ir::kNone ? Outcome() : m.instead(ops::add, {m.operand(0), b});
}

Outcome neg_times_neg(const Match& m) {
  if (!m.is(ops::mul) && !m.is(ops::div)) return {};
  const ir::ValueId a = under(m, 0, ops::neg), b = under(m, 1, ops::neg);
  return a == ir::kNone || b == ir::kNone ? Outcome() : m.with_inputs({a, b});
}

Outcome abs_neg(const Match& m) {
  if (!m.is(ops::abs) || m.out().dtype == DType::u8) return {};  // there, -1 is 255
  const ir::ValueId x = under(m, 0, ops::neg);
  return x == ir::kNone ? Outcome() : m.with_inputs({x});
}

Outcome square_sign(const Match& m) {
  if (!m.is(ops::square)) return {};
  for (const Op* op : {&ops::neg, &ops::abs}) {
    if (const ir::ValueId x = under(m, 0, *op); x != ir::kNone) return m.with_inputs({x});
  }
  return {};
}

Outcome twice_is_once(const Match& m) {
  constexpr const Op* kIdempotent[] = {&ops::relu, &ops::abs,   &ops::sign, &ops::floor,
                                       &ops::ceil, &ops::round, &ops::trunc};
  for (const Op* op : kIdempotent) {
    if (m.is(*op)) return m.made_by(0, *op) ? Outcome(m.operand(0)) : Outcome();
  }
  return {};
}

Outcome extremum_same(const Match& m) {
  if (!m.is(ops::maximum) && !m.is(ops::minimum)) return {};
  return m.operand(0) == m.operand(1) ? Outcome(m.operand(0)) : Outcome();
}

Outcome extremum_infinity(const Match& m) {
  if (!is_float(m.out().dtype)) return {};
  if (m.is(ops::maximum)) return drop(m, -HUGE_VAL);
  if (m.is(ops::minimum)) return drop(m, HUGE_VAL);
  return {};
}

constexpr Rule kArithmeticRules[] = {
    {"add_zero", "x + 0 is x for integers, x + -0.0 for floats", add_zero},
    {"sub_zero", "x - 0 is x", sub_zero},
    {"mul_one", "x * 1 is x", mul_one},
    {"mul_zero", "x * 0 is 0 for integers", mul_zero},
    {"div_one", "x / 1 is x", div_one},
    {"pow_one", "x to the power of 1 is x", pow_one},
    {"neg_neg", "-(-x) is x", neg_neg},
    {"add_neg", "a + (-b) is a - b", add_neg},
    {"sub_neg", "a - (-b) is a + b", sub_neg},
    {"neg_times_neg", "(-a) * (-b) is a * b, (-a) / (-b) is a / b", neg_times_neg},
    {"abs_neg", "abs(-x) is abs(x)", abs_neg},
    {"square_sign", "the square of -x or abs(x) is the square of x", square_sign},
    {"twice_is_once", "relu, abs, sign and roundings of themselves", twice_is_once},
    {"extremum_same", "maximum(x, x) and minimum(x, x) are x", extremum_same},
    {"extremum_infinity", "maximum(x, -inf) and minimum(x, inf) are x", extremum_infinity},
};

}  // namespace

std::span<const Rule> arithmetic_rules() { return kArithmeticRules; }

}  // namespace plait
