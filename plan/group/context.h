// What grouping looks at: the graph, who reads what, and which nodes have kernels so far. A node
// without a kernel is made where it is read, so reads are followed through it.
#pragma once

#include <optional>
#include <vector>

#include "plan/group/group.h"

namespace plait::plan {

/// A load of a node, followed through moves that have no kernel.
struct Read {
  ir::ValueId value;
  bool plain;
  std::vector<int> var_of_dim;  // where plain
};

struct GroupContext {
  GroupContext(const ir::Graph& graph, const Facts& facts, const Layouts& layouts,
               const Grouping& grouping);

  const ir::Node& node(ir::NodeId n) const { return graph.node(n); }
  const NodeFacts& facts(ir::NodeId n) const { return all_facts[static_cast<std::size_t>(n)]; }
  ir::ValueId result(ir::NodeId n) const { return node(n).outputs[0]; }
  /// Node n has its group.
  void placed(ir::NodeId n);

  const ir::Graph& graph;
  const Facts& all_facts;
  const Layouts& layouts;
  const Grouping& grouping;                      // as far as it has come
  std::vector<std::vector<ir::NodeId>> readers;  // per value, ascending
  std::vector<std::vector<int>> takers;          // per value: groups that read it, each once
  std::vector<char> kept;                        // per value: fetched or a next state
  mutable std::vector<std::optional<std::vector<Read>>> reads;  // per node, as far as asked for
};

/// Of a node whose operands have their groups. They are looked up once.
const std::vector<Read>& reads_of(const GroupContext& context, ir::NodeId n);

/// Every value in memory (or in another kernel) that a node's elements come from.
std::vector<Origin> origins_of(const GroupContext& context, ir::NodeId n);

}  // namespace plait::plan
