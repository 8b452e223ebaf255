// Recomputing what is read soon and once more much later.
#pragma once

#include "plan/draft.h"

namespace plait::plan {

/// Runs steps a second time where that lowers the peak for few bytes moved. The steps are in order.
void recompute_steps(const ir::Graph& graph, Draft& draft, DecisionLog& log);

}  // namespace plait::plan
