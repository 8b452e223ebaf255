// Nodes from one graph to another, and gradients through a few nodes without looking at the rest of
// a graph: a step has as many backward operations as forward ones.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/builder.h"

namespace plait::io::chainer {

/// Where copied nodes say they come from.
struct Origin {
  std::string path;
  ir::Source source;
};

/// Appends the nodes of `from`, beginning with node `first`, to `to`. `values` says which value of
/// `to` each value of `from` is, kNone for those that the nodes make: it is completed. `names` are
/// for values of `from`; those that are taken or not given become fresh ones.
void splice(const ir::Graph& from, std::size_t first, ir::Graph& to,
            std::vector<ir::ValueId>& values, const Origin& origin,
            const std::map<ir::ValueId, std::string>& names);

/// Nodes [first, end) of a graph, as one operation made them.
struct NodeRange {
  std::size_t first = 0, end = 0;
};

struct Cotangent {
  ir::ValueId of, value;
};

/// Appends the gradients of `wrt` through these nodes; `names` are those of the results, in order.
/// UserError when a node has no gradient.
std::vector<ir::ValueId> gradients_through(ir::Graph& graph, NodeRange nodes,
                                           const std::vector<Cotangent>& cotangents,
                                           const std::vector<ir::ValueId>& wrt,
                                           const std::vector<std::string>& names,
                                           const Origin& origin);

}  // namespace plait::io::chainer
