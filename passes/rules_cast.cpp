// Rules of copies and casts. Two casts become one where the first loses nothing.
#include <array>

#include "ops/compare.h"
#include "ops/shape.h"
#include "passes/rule.h"

namespace plait {
namespace {

using Outcome = std::optional<Replacement>;

/// Bits that an integer needs, or that a float holds exactly, by dtype.
constexpr std::array<int, kDTypeCount> kWholeBits{53, 24, 11, 8, 63, 31, 15, 7, 8, 1};
constexpr int whole_bits(DType t) { return kWholeBits[static_cast<std::size_t>(t)]; }

/// Whether every value of `from` is one of `to`.
bool holds(DType to, DType from) {
  if (to == from || from == DType::boolean) return true;
  if (to == DType::boolean || (is_float(from) && !is_float(to))) return false;
  if (is_float(to) && !is_float(from)) return whole_bits(to) >= whole_bits(from);
  return size_of(to) > size_of(from);  // float in float, integer in integer; u8 is the smallest
}

Outcome copy(const Match& m) { return m.is(ops::copy) ? Outcome(m.operand(0)) : Outcome(); }

Outcome stop_gradient(const Match& m) {
  return m.is(ops::stop_gradient) ? Outcome(m.operand(0)) : Outcome();
}

Outcome cast_same(const Match& m) {
  return m.is(ops::cast) && m.in().dtype == m.out().dtype ? Outcome(m.operand(0)) : Outcome();
}

Outcome cast_cast(const Match& m) {
  const ir::Node* inner = m.is(ops::cast) ? m.made_by(0, ops::cast) : nullptr;
  if (!inner) return {};
  const DType from = m.graph.type(inner->inputs[0]).dtype, by = m.in().dtype, to = m.out().dtype;
  if (!holds(by, from)) return {};
  // A float saturates where an integer wraps.
  if (is_int(from) && is_float(by) && is_int(to) && !holds(to, from)) return {};
  return m.with_inputs({inner->inputs[0]});
}

constexpr Rule kCastRules[] = {
    {"copy", "a copy is what it copies", copy},
    {"stop_gradient", "gradients are taken: what stopped them is a copy", stop_gradient},
    {"cast_same", "a cast to the dtype it has", cast_same},
    {"cast_cast", "two casts are one when the first loses nothing", cast_cast},
};

}  // namespace

std::span<const Rule> cast_rules() { return kCastRules; }

}  // namespace plait
