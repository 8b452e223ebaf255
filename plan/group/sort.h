// What remains once every node has its group: which values lie in memory, and the groups' order.
#pragma once

#include "plan/group/context.h"

namespace plait::plan {

/// Marks what another kernel reads, what is fetched and what is a next state. `grouping` is the
/// context's own.
void mark_stored(const GroupContext& context, Grouping& grouping);

/// Each group after those it reads. What others wait for comes as early as the first of them stands
/// in the graph: a weight's gradient and its update need not wait for numbers of the optimizer that
/// the graph names last. `grouping` is the context's own.
void sort_groups(const GroupContext& context, Grouping& grouping);

}  // namespace plait::plan
