// What a node computes, by definition: its nest, its written-out evaluation or its decomposition,
// on host arrays. The reference backend is this; constant folding uses it too.
#pragma once

#include <vector>

#include "base/array.h"
#include "ops/op.h"

namespace plait {

/// All sizes must be numbers. Inputs are null where an operand is left out. RunErrors name the
/// node.
std::vector<Array> evaluate(const NodeView& node, const std::vector<const Array*>& inputs);

}  // namespace plait
