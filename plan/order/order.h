// The order of steps.
#pragma once

#include <vector>

#include "plan/draft.h"
#include "plan/make_program.h"

namespace plait::plan {

/// The order in which the draft's steps run: the graph's own, or one whose live bytes stay lower.
std::vector<int> choose_order(const ir::Graph& graph, const Draft& draft, const Options& options,
                              DecisionLog& log);

}  // namespace plait::plan
