// Merges nodes that compute the same.
#pragma once

#include "passes/pipeline.h"

namespace plait {

/// A node with the op, operands, attributes (bit for bit) and result types of an earlier one gives
/// way to it. Random nodes too: the same key and stream draw the same. Opaque nodes stay.
ir::Graph merge_common(const ir::Graph& graph, DecisionLog& log);

}  // namespace plait
