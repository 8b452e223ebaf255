// Rules of ops that rename elements: reshapes, transposes, broadcasts, flips.
#include <algorithm>

#include "base/at.h"
#include "ops/shape.h"
#include "ops/table.h"
#include "passes/rule.h"

namespace plait {
namespace {

using Outcome = std::optional<Replacement>;

Replacement reshaped(const Match& m, ir::ValueId x) {
  return m.instead(ops::reshape, {x}, ir::encode(ops::ShapeTo{m.out().shape}));
}
Replacement spread(const Match& m, ir::ValueId x) {
  return m.instead(ops::broadcast_to, {x}, ir::encode(ops::ShapeTo{m.out().shape}));
}

constexpr const Op* kReshapes[] = {&ops::reshape, &ops::squeeze, &ops::unsqueeze};

bool is_reshape(const Match& m) {
  return std::any_of(std::begin(kReshapes), std::end(kReshapes),
                     [&](const Op* op) { return m.is(*op); });
}

/// The reshape, squeeze or unsqueeze that makes the first operand.
const ir::Node* reshape_below(const Match& m) {
  for (const Op* op : kReshapes) {
    if (const ir::Node* maker = m.made_by(0, *op)) return maker;
  }
  return nullptr;
}

std::vector<std::int64_t> order_of(const ir::Node& node) {
  auto order = ir::decode<ops::Order>(node.attrs, node.op).order;
  for (std::int64_t& axis : order) {
    if (axis < 0) axis += static_cast<std::int64_t>(order.size());
  }
  return order;
}

/// Which axes a flip turns round.
std::vector<bool> flipped(const ir::Node& node, int rank) {
  const auto axes = ir::decode<ops::Axes>(node.attrs, node.op).axes;
  std::vector<bool> turned(at(rank), axes.empty());
  for (std::int64_t axis : axes) turned[at(axis < 0 ? axis + rank : axis)] = true;
  return turned;
}

Outcome reshape_same(const Match& m) {
  return is_reshape(m) && m.in() == m.out() ? Outcome(m.operand(0)) : Outcome();
}

Outcome reshape_reshape(const Match& m) {
  const ir::Node* inner = is_reshape(m) ? reshape_below(m) : nullptr;
  return inner ? Outcome(reshaped(m, inner->inputs[0])) : Outcome();
}

Outcome transpose_identity(const Match& m) {
  if (!m.is(ops::transpose)) return {};
  const auto order = order_of(m.node);
  return std::is_sorted(order.begin(), order.end()) ? Outcome(m.operand(0)) : Outcome();
}

Outcome transpose_transpose(const Match& m) {
  const ir::Node* inner = m.is(ops::transpose) ? m.made_by(0, ops::transpose) : nullptr;
  if (!inner) return {};
  const auto first = order_of(*inner);
  ops::Order both;
  for (std::int64_t axis : order_of(m.node)) both.order.push_back(first[at(axis)]);
  return m.instead(ops::transpose, inner->inputs, ir::encode(both));
}

Outcome transpose_ones(const Match& m) {
  if (!m.is(ops::transpose)) return {};
  std::vector<std::int64_t> moved;
  for (std::int64_t axis : order_of(m.node)) {
    if (!m.in().shape[at(axis)].is(1)) moved.push_back(axis);
  }
  return std::is_sorted(moved.begin(), moved.end()) ? Outcome(reshaped(m, m.operand(0)))
                                                    : Outcome();
}

Outcome broadcast_same(const Match& m) {
  return m.is(ops::broadcast_to) && m.in() == m.out() ? Outcome(m.operand(0)) : Outcome();
}

Outcome broadcast_broadcast(const Match& m) {
  const ir::Node* inner = m.is(ops::broadcast_to) ? m.made_by(0, ops::broadcast_to) : nullptr;
  return inner ? Outcome(spread(m, inner->inputs[0])) : Outcome();
}

/// Broadcasting adds leading axes by itself.
Outcome broadcast_leading(const Match& m) {
  const ir::Node* inner = m.is(ops::broadcast_to) ? reshape_below(m) : nullptr;
  if (!inner) return {};
  const Shape &from = m.graph.type(inner->inputs[0]).shape, &to = m.in().shape;
  if (from.size() > to.size()) return {};
  const auto lead = to.end() - static_cast<std::ptrdiff_t>(from.size());
  const bool ones = std::all_of(to.begin(), lead, [](const Dim& d) { return d.is(1); });
  return ones && std::equal(from.begin(), from.end(), lead) ? Outcome(spread(m, inner->inputs[0]))
                                                            : Outcome();
}

/// An elementwise op broadcasts its operands itself, where the result keeps its shape.
Outcome broadcast_operand(const Match& m) {
  if (!(m.op.traits & kElementwise) || !m.op.scalar || m.count() < 2) return {};
  for (int i = 0; i < m.count(); ++i) {
    const ir::Node* maker = m.made_by(i, ops::broadcast_to);
    if (!maker) continue;
    std::vector<ir::ValueId> inputs = m.node.inputs;
    inputs[at(i)] = maker->inputs[0];
    NodeView view{m.op, {}, {}, m.node.attrs, ""};
    for (ir::ValueId id : inputs) view.inputs.push_back(&m.graph.type(id));
    if (infer(view)[0].shape == m.out().shape) return m.with_inputs(std::move(inputs));
  }
  return {};
}

/// However a spread scalar is renamed, it is that scalar spread.
Outcome move_scalar(const Match& m) {
  if (!(m.op.traits & kView) && !m.is(ops::flip)) return {};
  if (m.results.size() != 1 || m.is(ops::broadcast_to)) return {};
  const ir::Node* maker = m.made_by(0, ops::broadcast_to);
  if (!maker || m.graph.type(maker->inputs[0]).rank() != 0) return {};
  return spread(m, maker->inputs[0]);
}

Outcome flip_ones(const Match& m) {
  if (!m.is(ops::flip)) return {};
  const std::vector<bool> turned = flipped(m.node, m.in().rank());
  for (std::size_t i = 0; i < turned.size(); ++i) {
    if (turned[i] && !m.in().shape[i].is(1)) return {};
  }
  return m.operand(0);
}

Outcome flip_flip(const Match& m) {
  const ir::Node* inner = m.is(ops::flip) ? m.made_by(0, ops::flip) : nullptr;
  if (!inner) return {};
  const std::vector<bool> a = flipped(*inner, m.in().rank()), b = flipped(m.node, m.in().rank());
  ops::Axes once;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) once.axes.push_back(static_cast<std::int64_t>(i));
  }
  if (once.axes.empty()) return inner->inputs[0];
  return m.instead(ops::flip, inner->inputs, ir::encode(once));
}

constexpr Rule kMoveRules[] = {
    {"reshape_same", "a reshape, squeeze or unsqueeze to the shape it has", reshape_same},
    {"reshape_reshape", "of two reshapes the second decides", reshape_reshape},
    {"transpose_identity", "a transpose that moves nothing", transpose_identity},
    {"transpose_transpose", "two transposes are one", transpose_transpose},
    {"transpose_ones", "a transpose that moves axes of size 1 is a reshape", transpose_ones},
    {"broadcast_same", "a broadcast to the shape it has", broadcast_same},
    {"broadcast_broadcast", "two broadcasts are one", broadcast_broadcast},
    {"broadcast_leading", "a broadcast adds leading axes by itself", broadcast_leading},
    {"broadcast_operand", "elementwise ops broadcast by themselves", broadcast_operand},
    {"move_scalar", "a spread scalar stays one however it is renamed", move_scalar},
    {"flip_ones", "a flip of axes of size 1", flip_ones},
    {"flip_flip", "two flips turn what one of them turns", flip_flip},
};

}  // namespace

std::span<const Rule> move_rules() { return kMoveRules; }

}  // namespace plait
