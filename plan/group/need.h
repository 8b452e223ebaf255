// Which nodes need a kernel. Moves and cheap small values do without: they are made again wherever
// they are read, unless something needs them in memory.
#pragma once

#include <vector>

#include "plan/group/context.h"

namespace plait::plan {

/// Per node. The context's grouping has no group yet. `again`: nodes known to need none.
std::vector<char> needs_kernel(const GroupContext& context, const GroupOptions& options,
                               const std::vector<char>& again);

}  // namespace plait::plan
