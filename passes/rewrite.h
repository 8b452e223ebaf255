// Rebuilding a graph node by node: what every pass that drops, merges or replaces nodes shares.
// Nodes that survive keep their order, names, paths and sources; feeds and states always stay.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace plait {

class Rewriter {
 public:
  /// Starts the new graph with the feeds and states of `from`, which must outlive this.
  explicit Rewriter(const ir::Graph& from);

  /// The new graph so far.
  const ir::Graph& graph() const { return to_; }
  /// The value of the new graph that stands for a value of the old one; kNone for kNone.
  ir::ValueId value(ir::ValueId old) const;
  /// A node of the old graph with its operands in the new one, without outputs.
  ir::Node carried(const ir::Node& old) const;

  /// Appends a node whose outputs stand for `old`, values of the old graph: with their names and
  /// types.
  void put(const std::vector<ir::ValueId>& old, ir::Node node);
  void keep(const ir::Node& old) { put(old.outputs, carried(old)); }
  /// Lets `by`, a value of the new graph, stand for `old`.
  void replace(ir::ValueId old, ir::ValueId by);

  /// The new graph with the fetches and next states of the old one.
  ir::Graph finish();

 private:
  const ir::Graph& from_;
  ir::Graph to_;
  std::vector<ir::ValueId> map_;  // by old value
};

/// `transpose(%a, order=[1,0])`, for the decision log.
std::string node_text(const ir::Graph& graph, const ir::Node& node);
/// `%relu0`, `x`, `_`
std::string value_text(const ir::Graph& graph, ir::ValueId id);

}  // namespace plait
