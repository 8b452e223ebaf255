// A graph as a picture: Graphviz text, nodes boxed by module.
#pragma once

#include <string>

#include "ir/graph.h"

namespace plait::cli {

/// One digraph. Feeds and states are ellipses, nodes boxes, fetches and next states end in plain
/// text; edges carry types.
std::string dot_text(const ir::Graph& graph);

}  // namespace plait::cli
