// How a node splits: which part of its operands makes which part of its result, from its index map.
// An index of the result splits both; a summed index splits operands and gives partial results.
// Slicing (passes/slice.h) goes through such parts one behind the other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "ops/table.h"

namespace plait {

/// Indices [from, to) of an axis.
struct AxisRange {
  std::int64_t from = 0, to = 0;
  std::int64_t size() const { return to - from; }
  bool operator==(const AxisRange&) const = default;
};

/// A part of a tensor: a range of each axis.
using Box = std::vector<AxisRange>;

/// All of a tensor; its sizes must be numbers.
Box whole_box(const Shape& shape);
Shape shape_of(const Box& box);

/// Parts that are settled, by operand and by output; null where they are to be found.
struct GivenBoxes {
  std::vector<const Box*> inputs, outputs;
};

struct NodePart {
  Decision fits = Decision::allow();  // why not, where the node does not split so
  std::vector<Box> inputs;            // what it needs of each operand; empty for one left out
  std::vector<Box> outputs;           // what that makes
  /// How the outputs of all parts are combined where each is a partial result: a summed index was
  /// split. kNone: they lie beside each other.
  loop::Reduce combine = loop::Reduce::kNone;
  ir::Attrs attrs;  // of the node over these parts
};

/// The least of a node's work that the given parts take part in. What is not given is a whole
/// operand unless one of the split indices walks it.
NodePart part_of(const NodeView& view, const GivenBoxes& given);

/// The part of a tensor of shape `to` that holds the elements of a part of one of shape `from`, in
/// row-major order; nothing where they are no box there.
std::optional<Box> reshaped(const Shape& from, const Box& box, const Shape& to);

}  // namespace plait
