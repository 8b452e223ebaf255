// Which values are made again where they are read, instead of being kept. Where one value stays in
// memory, cheap functions of it need not: a relu's mask beside the relu, a normalised row beside
// the row and its two statistics, a widened copy beside the half it was made of.
#pragma once

#include <vector>

#include "plan/group/context.h"

namespace plait::plan {

/// Per node: it has no kernel, whoever reads it computes it. The context's grouping is complete;
/// bits are the same, for the same operations run on the same operands.
std::vector<char> recomputed_where_read(const GroupContext& context, DecisionLog& log);

}  // namespace plait::plan
