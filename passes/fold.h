// Computes at compile time what depends on constants alone.
#pragma once

#include "passes/pipeline.h"

namespace plait {

/// A node whose operands are all constant becomes a constant of its value, as evaluate() gives it,
/// unless it is opaque or random, has symbolic sizes, or would take more memory than before: what
/// is written out may exceed its operands only up to kFoldedBytes, and never where the node costs
/// no memory as it stands (a view, a count). Kept nodes are logged with the reason; what reads a
/// small one is folded all the same.
ir::Graph fold_constants(const ir::Graph& graph, DecisionLog& log);

inline constexpr std::int64_t kFoldedBytes = 1024;
/// More work than this in one node is left to the run.
inline constexpr std::int64_t kFoldedOperations = 10'000'000;

}  // namespace plait
