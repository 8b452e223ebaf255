// What remains once every node has its group: which values lie in memory, and the groups' order.
#pragma once

#include "plan/group_sight.h"

namespace plait::plan {

/// Marks what another kernel reads, what is fetched and what is a next state. `grouping` is the
/// sight's own.
void mark_stored(const GroupSight& sight, Grouping& grouping);

/// Each group after those it reads; as early in the graph's own order as that allows. `grouping` is
/// the sight's own.
void sort_groups(const GroupSight& sight, Grouping& grouping);

}  // namespace plait::plan
