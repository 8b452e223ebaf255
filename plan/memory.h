// Memory: order of the steps, what shares a buffer with what, and where each buffer lies.
#pragma once

#include "plan/draft.h"
#include "plan/place.h"

namespace plait::plan {

/// The order in which the draft's steps run: the graph's own, or one whose live bytes stay lower.
std::vector<int> choose_order(const ir::Graph& graph, const Draft& draft, const Options& options,
                              DecisionLog& log);

/// Runs steps a second time where that lowers the peak for few bytes moved. The steps are in order.
void repeat_steps(const ir::Graph& graph, Draft& draft, DecisionLog& log);

/// Products of one shape that nothing waits for move down to the last of them, where the target has
/// them all in one launch.
void gather_products(const ir::Graph& graph, Draft& draft, const Target& target,
                     const DimBindings& largest, DecisionLog& log);

/// A step takes another's calls, to run together with its own.
void absorb(DraftStep& to, DraftStep& from);

/// Neighbouring steps that need nothing of each other become one, whose calls run together: the
/// updates of all parameters, or small products of one input with several weights.
void join_independent(const ir::Graph& graph, Draft& draft);

/// Gives every value in memory a buffer, every buffer an offset, and rewrites the calls from values
/// to buffers. The steps of the draft are in their final order.
void assign_memory(const Sight& sight, Draft& draft, const Target& target, Program& program);

}  // namespace plait::plan
