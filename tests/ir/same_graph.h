// Comparison of graphs field by field, for tests of what must leave a graph as it was.
#pragma once

#include <string>

#include "ir/graph.h"

namespace plait::ir {

/// Empty when the graphs are the same, field by field, up to the numbering of values; else the
/// first difference.
std::string difference(const Graph& a, const Graph& b);

}  // namespace plait::ir
