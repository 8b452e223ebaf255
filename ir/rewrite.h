// Rebuilding a graph node by node: what everything that drops, merges, replaces or renames nodes
// shares. Nodes that survive keep their order, names, paths and sources; feeds and states always
// stay.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace plait::ir {

class Rewriter {
 public:
  /// Starts the new graph with the feeds and states of `from`, which must outlive this.
  explicit Rewriter(const Graph& from);

  /// The new graph so far.
  const Graph& graph() const { return to_; }
  Graph& graph() { return to_; }
  /// The value of the new graph that stands for a value of the old one; kNone for kNone.
  ValueId value(ValueId old) const;
  /// A node of the old graph with its operands in the new one, without outputs.
  Node carried(const Node& old) const;

  /// Appends a node whose outputs stand for `old`, values of the old graph: with their names and
  /// types.
  void put(const std::vector<ValueId>& old, Node node);
  void put(const std::vector<ValueId>& old, Node node, std::vector<std::string> names);
  void keep(const Node& old) { put(old.outputs, carried(old)); }
  /// Appends a node of one output that stands for no value of the old graph, named `name` or, where
  /// either graph has that, `name` with a number behind it.
  ValueId add(Node node, Type type, const std::string& name);
  /// Lets `by`, a value of the new graph, stand for `old`.
  void replace(ValueId old, ValueId by);

  /// The new graph with the fetches and next states of the old one.
  Graph finish();

 private:
  const Graph& from_;
  Graph to_;
  std::vector<ValueId> map_;  // by old value
};

}  // namespace plait::ir
