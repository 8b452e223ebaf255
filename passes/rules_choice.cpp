// Rules of logic and choice, of reductions that reduce nothing, and of transposes that a product
// takes upon itself.
#include <algorithm>

#include "ops/compare.h"
#include "ops/contract.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "passes/rule.h"

namespace plait {
namespace {

using Outcome = std::optional<Replacement>;

Outcome where_same(const Match& m) {
  if (!m.is(ops::where) || m.operand(1) != m.operand(2)) return {};
  return m.only(1);
}

Outcome where_constant(const Match& m) {
  if (!m.is(ops::where)) return {};
  const std::optional<double> condition = m.uniform(0);
  return condition ? Outcome(m.only(*condition != 0 ? 1 : 2)) : Outcome();
}

Outcome where_not(const Match& m) {
  if (!m.is(ops::where)) return {};
  const ir::Node* maker = m.made_by(0, ops::logical_not);
  return maker ? Outcome(m.with_inputs({maker->inputs[0], m.operand(2), m.operand(1)})) : Outcome();
}

Outcome not_not(const Match& m) {
  if (!m.is(ops::logical_not)) return {};
  const ir::Node* maker = m.made_by(0, ops::logical_not);
  return maker ? Outcome(maker->inputs[0]) : Outcome();
}

Outcome not_equal(const Match& m) {
  if (!m.is(ops::logical_not)) return {};
  if (const ir::Node* maker = m.made_by(0, ops::equal)) {
    return m.instead(ops::not_equal, maker->inputs);
  }
  if (const ir::Node* maker = m.made_by(0, ops::not_equal)) {
    return m.instead(ops::equal, maker->inputs);
  }
  return {};
}

Outcome logic_same(const Match& m) {
  if (!m.is(ops::logical_and) && !m.is(ops::logical_or)) return {};
  return m.operand(0) == m.operand(1) ? Outcome(m.operand(0)) : Outcome();
}

Outcome logic_constant(const Match& m) {
  const bool both = m.is(ops::logical_and), either = m.is(ops::logical_or);
  if (!both && !either && !m.is(ops::logical_xor)) return {};
  for (int i : {0, 1}) {
    const std::optional<double> v = m.uniform(i);
    if (!v) continue;
    if (*v == 0) return m.only(both ? i : 1 - i);
    if (m.out().dtype != DType::boolean) continue;  // elsewhere 1 is one bit of many
    if (both) return m.only(1 - i);
    if (either) return m.only(i);
  }
  return {};
}

Outcome clip_nothing(const Match& m) {
  if (!m.is(ops::clip) || !(m.as<ops::Clip>() == ops::Clip())) return {};
  return m.only(0);
}

// A float sum is not here: it starts from 0.0, which turns a -0.0 into 0.0.
Outcome reduce_ones(const Match& m) {
  constexpr const Op* kExact[] = {&ops::max, &ops::min, &ops::prod, &ops::any, &ops::all};
  const bool exact =
      std::any_of(std::begin(kExact), std::end(kExact), [&](const Op* op) { return m.is(*op); });
  if (!exact && !(m.is(ops::sum) && !is_float(m.out().dtype))) return {};
  const Shape& shape = m.in().shape;
  const auto axes = m.as<ops::Reduction>().axes;
  const auto is_one = [](const Dim& size) { return size.is(1); };
  const auto has_one = [&](std::int64_t axis) {
    return is_one(shape[static_cast<std::size_t>(axis < 0 ? axis + m.in().rank() : axis)]);
  };
  const bool nothing = axes.empty() ? std::all_of(shape.begin(), shape.end(), is_one)
                                    : std::all_of(axes.begin(), axes.end(), has_one);
  if (!nothing) return {};
  return m.instead(ops::reshape, {m.operand(0)}, ir::encode(ops::ShapeTo{m.out().shape}));
}

/// Whether an order exchanges the last two axes and nothing else.
bool swaps_last(const std::vector<std::int64_t>& order) {
  const auto rank = static_cast<std::int64_t>(order.size());
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t axis = order[static_cast<std::size_t>(i)];
    const std::int64_t want = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
    if ((axis < 0 ? axis + rank : axis) != want) return false;
  }
  return rank >= 2;
}

Outcome matmul_transpose(const Match& m) {
  if (!m.is(ops::matmul)) return {};
  for (int i : {0, 1}) {
    const ir::Node* maker = m.made_by(i, ops::transpose);
    if (!maker) continue;
    if (!swaps_last(ir::decode<ops::Order>(maker->attrs, maker->op).order)) continue;
    auto a = m.as<ops::Matmul>();
    bool& flag = i == 0 ? a.transpose_a : a.transpose_b;
    flag = !flag;
    std::vector<ir::ValueId> inputs = m.node.inputs;
    inputs[static_cast<std::size_t>(i)] = maker->inputs[0];
    return m.instead(ops::matmul, std::move(inputs), ir::encode(a));
  }
  return {};
}

constexpr Rule kChoiceRules[] = {
    {"where_same", "where(c, x, x) is x", where_same},
    {"where_constant", "where() of a condition that is known", where_constant},
    {"where_not", "where(not c, a, b) is where(c, b, a)", where_not},
    {"not_not", "not not x is x", not_not},
    {"not_equal", "not (a = b) is a != b, and back", not_equal},
    {"logic_same", "x and x, x or x are x", logic_same},
    {"logic_constant", "and, or, xor with a constant that decides or does nothing", logic_constant},
    {"clip_nothing", "clip without bounds is x", clip_nothing},
    {"reduce_ones", "a reduction over axes of size 1 is a reshape", reduce_ones},
    {"matmul_transpose", "a transposed operand becomes a flag of the product", matmul_transpose},
};

}  // namespace

std::span<const Rule> choice_rules() { return kChoiceRules; }

}  // namespace plait
