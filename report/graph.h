// What can be said of any graph, whatever document it came from: counts, work, memory, and findings
// that need no times.
#pragma once

#include "ir/graph.h"
#include "report/page.h"

namespace plait::report {

/// A section with nodes, parameters, operations, bytes, and memory kept whole, by lifetime and
/// shared. UserError when a size is not a number.
void add_graph(Page& page, const ir::Graph& graph);

/// Values that nothing reads, states that nothing reads, copies that need not be, and elementwise
/// nodes that could ride in the epilogue of the contraction they follow.
void add_findings(Page& page, const ir::Graph& graph);

/// The page of a graph that is not from a document.
Page of_graph(const ir::Graph& graph);

}  // namespace plait::report
