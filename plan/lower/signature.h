// What lowering looks at of a group, as text: groups of one signature become the same kernels, with
// other values as their operands. A network's layers repeat; what they are made of is lowered,
// printed and chosen once.
#pragma once

#include <string>
#include <vector>

#include "plan/lower/lower.h"

namespace plait::plan {

struct Signature {
  std::string text;
  std::vector<ir::ValueId> values;  // in the order in which the text names them
};

Signature signature_of(const PlanContext& context, const Group& group);

/// A state that the graph does not advance, or a literal.
bool is_constant(const PlanContext& context, ir::ValueId value);

}  // namespace plait::plan
