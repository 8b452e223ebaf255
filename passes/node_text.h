// Nodes and values as the decision log says them.
#pragma once

#include <string>

#include "ir/graph.h"

namespace plait {

/// `transpose(%a, order=[1,0])`, for the decision log.
std::string node_text(const ir::Graph& graph, const ir::Node& node);
/// `%relu0`, `x`, `_`
std::string value_text(const ir::Graph& graph, ir::ValueId id);

}  // namespace plait
