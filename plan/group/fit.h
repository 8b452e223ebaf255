// How a node's indices fit the index space of a group: where each stands, whether the node walks
// all of the space or its rows, and which way a reduction runs through it.
#pragma once

#include <vector>

#include "plan/group/context.h"

namespace plait::plan {

/// Finds the position of every variable of n in the space of `grown`, a copy of group g, which may
/// grow by inner ones.
Decision align(const GroupContext& context, ir::NodeId n, int g, Group& grown,
               std::vector<int>& places);

/// Whether n walks all of the group's space, or its rows.
Decision covers(const GroupContext& context, ir::NodeId n, const Group& g,
                const std::vector<int>& places, bool epilogue);

/// Rows and inner part from what a reduction sums over. `alone`: it is the group's first node.
Decision settle_direction(const GroupContext& context, ir::NodeId n, Group& g,
                          const std::vector<int>& places, bool alone, Direction& direction);

/// The position of the axis of n's result that is innermost in memory.
int last_in_memory(const GroupContext& context, ir::NodeId n, const std::vector<int>& places);

}  // namespace plait::plan
