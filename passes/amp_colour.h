// Which nodes of a graph run in half precision: the colours of the op table, spread over a graph.
// Decides only; passes/amp.h rewrites.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace plait {

/// How one node runs.
struct Precision {
  bool half = false;
  std::vector<bool> narrowed;     // of a half node, by operand: read as a half
  std::vector<ir::Type> outputs;  // of a half node: what its op infers then
  std::string_view why;           // empty for nodes that have no f32 to narrow
};

/// By node. White ops are half, black ones f32. Gray and clear ones are half where a white op comes
/// before and after them through such ops. Then clear ops join half neighbours, and reductions are
/// taken of halves where nothing else widens what they reduce.
/// An elementwise op stays f32 where rounding its operands would cost more than it saves: where it
/// spreads a computed statistic (a norm's mean, a loss's weights), takes in a float feed (a loss's
/// target), or reads a constant that the half type cannot hold.
std::vector<Precision> colour(const ir::Graph& graph, DType half);

}  // namespace plait
