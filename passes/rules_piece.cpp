// Rules of cutting and joining: slices, pads, concats, splits.
#include <algorithm>
#include <cmath>

#include "ops/shape.h"
#include "passes/rule.h"

namespace plait {
namespace {

using Outcome = std::optional<Replacement>;

/// start, start + step, ...: `count` elements.
struct Range {
  std::int64_t start, count, step;
};

bool is_constant(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_const(); });
}

/// What a slice takes of each axis of an operand of this shape; nothing when that is symbolic.
std::optional<std::vector<Range>> ranges_of(const ir::Node& node, const Shape& shape) {
  const auto a = ir::decode<ops::Slice>(node.attrs, node.op);
  if (!is_constant(shape) || !is_constant(a.starts) || !is_constant(a.stops)) return {};
  std::vector<Range> ranges;
  for (const Dim& size : shape) ranges.push_back({0, size.value(), 1});
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    Range& r = ranges[static_cast<std::size_t>(a.axes[i] < 0 ? a.axes[i] + rank : a.axes[i])];
    const std::int64_t size = r.count;
    const auto end = [&](std::int64_t e) {
      return std::clamp<std::int64_t>(e < 0 ? e + size : e, 0, size);
    };
    r.step = a.steps.empty() ? 1 : a.steps[i];
    r.start = end(a.starts[i].value());
    r.count = (std::max(end(a.stops[i].value()) - r.start, std::int64_t(0)) + r.step - 1) / r.step;
  }
  return ranges;
}

/// The slice that takes these, naming only the axes that lose something.
ops::Slice slice_of(const std::vector<Range>& ranges, const Shape& shape) {
  ops::Slice out;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Range& r = ranges[i];
    if (shape[i].is(r.count)) continue;
    out.axes.push_back(static_cast<std::int64_t>(i));
    out.starts.push_back(r.start);
    out.stops.push_back(r.count == 0 ? r.start : r.start + (r.count - 1) * r.step + 1);
    out.steps.push_back(r.step);
  }
  const auto is_one = [](std::int64_t step) { return step == 1; };
  if (std::all_of(out.steps.begin(), out.steps.end(), is_one)) out.steps.clear();
  return out;
}

Outcome slice_all(const Match& m) {
  return m.is(ops::slice) && m.in() == m.out() ? Outcome(m.operand(0)) : Outcome();
}

Outcome slice_slice(const Match& m) {
  const ir::Node* inner = m.is(ops::slice) ? m.made_by(0, ops::slice) : nullptr;
  if (!inner) return {};
  const Shape& shape = m.graph.type(inner->inputs[0]).shape;
  const auto first = ranges_of(*inner, shape), second = ranges_of(m.node, m.in().shape);
  if (!first || !second) return {};
  std::vector<Range> both;
  for (std::size_t i = 0; i < first->size(); ++i) {
    const Range &a = (*first)[i], &b = (*second)[i];
    const std::int64_t start = b.count == 0 ? 0 : a.start + a.step * b.start;
    both.push_back({start, b.count, a.step * b.step});
  }
  return m.instead(ops::slice, inner->inputs, ir::encode(slice_of(both, shape)));
}

bool pads_between(const ops::Pad& a) {
  return std::any_of(a.interior.begin(), a.interior.end(), [](auto n) { return n != 0; });
}

Outcome pad_nothing(const Match& m) {
  if (!m.is(ops::pad)) return {};
  const auto a = m.as<ops::Pad>();
  const auto is_zero = [](const Dim& d) { return d.is(0); };
  const bool nothing = !pads_between(a) && std::all_of(a.low.begin(), a.low.end(), is_zero) &&
                       std::all_of(a.high.begin(), a.high.end(), is_zero);
  return nothing ? Outcome(m.operand(0)) : Outcome();
}

/// Only of pads that add: what one cuts off, the other cannot bring back.
Outcome pad_pad(const Match& m) {
  const ir::Node* inner = m.is(ops::pad) ? m.made_by(0, ops::pad) : nullptr;
  if (!inner) return {};
  const auto a = ir::decode<ops::Pad>(inner->attrs, inner->op), b = m.as<ops::Pad>();
  const bool same = a.value == b.value && std::signbit(a.value) == std::signbit(b.value);
  if (!same || pads_between(a) || pads_between(b)) return {};
  const auto adds = [](const Dim& d) { return d.lo() >= 0; };
  for (const Shape& s : {a.low, a.high, b.low, b.high}) {
    if (!std::all_of(s.begin(), s.end(), adds)) return {};
  }
  Shape low, high;
  for (std::size_t i = 0; i < a.low.size(); ++i) {
    low.push_back(a.low[i] + b.low[i]);
    high.push_back(a.high[i] + b.high[i]);
  }
  ir::Attrs both = m.node.attrs;  // its value as it is written, be it -0.0
  both.set("low", low);
  both.set("high", high);
  return m.instead(ops::pad, inner->inputs, both);
}

std::size_t axis_of(std::int64_t axis, int rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

Outcome concat_one(const Match& m) {
  return m.is(ops::concat) && m.count() == 1 ? Outcome(m.operand(0)) : Outcome();
}

Outcome concat_empty(const Match& m) {
  if (!m.is(ops::concat)) return {};
  const std::size_t axis = axis_of(m.as<ops::Axis>().axis, m.out().rank());
  std::vector<ir::ValueId> inputs;
  for (ir::ValueId id : m.node.inputs) {
    if (!m.graph.type(id).shape[axis].is(0)) inputs.push_back(id);
  }
  if (inputs.empty() || inputs.size() == m.node.inputs.size()) return {};
  return m.with_inputs(std::move(inputs));
}

Outcome concat_split(const Match& m) {
  const ir::Node* maker = m.is(ops::concat) ? m.made_by(0, ops::split) : nullptr;
  if (!maker || maker->outputs != m.node.inputs) return {};
  const auto joined = axis_of(m.as<ops::Axis>().axis, m.out().rank());
  const auto cut = axis_of(ir::decode<ops::Split>(maker->attrs, maker->op).axis, m.out().rank());
  return joined == cut ? Outcome(maker->inputs[0]) : Outcome();
}

Outcome split_one(const Match& m) {
  return m.is(ops::split) && m.results.size() == 1 ? Outcome(m.operand(0)) : Outcome();
}

constexpr Rule kPieceRules[] = {
    {"slice_all", "a slice that takes everything", slice_all},
    {"slice_slice", "two slices are one", slice_slice},
    {"pad_nothing", "a pad that adds nothing", pad_nothing},
    {"pad_pad", "two pads with one value are one", pad_pad},
    {"concat_one", "a concat of one", concat_one},
    {"concat_empty", "what has size 0 along the axis adds nothing to a concat", concat_empty},
    {"concat_split", "all pieces joined again", concat_split},
    {"split_one", "a split into one piece", split_one},
};

}  // namespace

std::span<const Rule> piece_rules() { return kPieceRules; }

}  // namespace plait
