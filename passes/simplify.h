// Algebra: rules that change no bit, to a fixed point.
#pragma once

#include "passes/pipeline.h"
#include "passes/rule.h"

namespace plait {

/// Every rule, in the order in which they are tried.
std::vector<const Rule*> all_rules();

/// Applies the rules until none fires. What a replaced node read may stay behind, dead. A result
/// that is distributed gives way only to a value that lives where it does. Stopped gradients are
/// opened, so differentiate before.
ir::Graph simplify(const ir::Graph& graph, DecisionLog& log);

}  // namespace plait
