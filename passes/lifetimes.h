// When the memory of a graph's values is needed, in the order of its nodes. An analysis.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace plait {

/// A value that owns memory, needed from node `first` to node `last`, both included; `last` is the
/// number of nodes for what is fetched or a next state.
struct Lifetime {
  ir::ValueId value;
  std::int64_t bytes;
  std::int64_t first, last;
};

/// Views keep what they look at alive and own nothing; feeds, states and constants are left out.
/// UserError naming the size when one is not a number.
std::vector<Lifetime> lifetimes(const ir::Graph& graph);

}  // namespace plait
