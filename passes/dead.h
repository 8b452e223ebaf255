// Removes what nothing reads.
#pragma once

#include "passes/pipeline.h"

namespace plait {

/// Drops every node that no fetch and no next state depends on; feeds and states stay.
ir::Graph remove_dead(const ir::Graph& graph, DecisionLog& log);

}  // namespace plait
