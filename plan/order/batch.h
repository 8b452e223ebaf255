// Products of one shape as one grouped launch.
#pragma once

#include "plan/draft.h"

namespace plait::plan {

/// Products of one shape that nothing waits for move down to the last of them, where the target has
/// them all in one launch.
void batch_products(const ir::Graph& graph, Draft& draft, const Target& target,
                    const DimBindings& largest, DecisionLog& log);

}  // namespace plait::plan
