// Rebuilding a graph node by node.
#include "ir/rewrite.h"

namespace plait::ir {

Rewriter::Rewriter(const Graph& from) : from_(from), map_(from.values.size(), kNone) {
  to_.name = from.name;
  to_.reserve(from.nodes.size(), from.values.size());
  for (ValueId id : from.feeds) {
    replace(id, to_.add_feed(from.value(id).name, from.type(id)));
  }
  for (const StateUse& use : from.states) replace(use.value, to_.add_state(use.state));
}

ValueId Rewriter::value(ValueId old) const {
  if (old == kNone) return kNone;
  const ValueId id = map_[static_cast<std::size_t>(old)];
  check(id != kNone, "%", from_.value(old).name, " of graph ", from_.name,
        " is read, but was dropped");
  return id;
}

Node Rewriter::carried(const Node& old) const {
  Node node = old;
  node.outputs.clear();
  for (ValueId& id : node.inputs) id = value(id);
  return node;
}

void Rewriter::put(const std::vector<ValueId>& old, Node node) {
  std::vector<std::string> names;
  for (ValueId id : old) names.push_back(from_.value(id).name);
  put(old, std::move(node), std::move(names));
}

void Rewriter::put(const std::vector<ValueId>& old, Node node, std::vector<std::string> names) {
  std::vector<Type> types;
  for (ValueId id : old) types.push_back(from_.type(id));
  const NodeId made = to_.add_node(std::move(node), types, std::move(names));
  for (std::size_t i = 0; i < old.size(); ++i) replace(old[i], to_.node(made).outputs[i]);
}

ValueId Rewriter::add(Node node, Type type, const std::string& name) {
  std::string free = name;
  for (int i = 1; from_.find_value(free) != kNone || to_.find_value(free) != kNone; ++i) {
    free = str(name, ".", i);
  }
  return to_.node(to_.add_node(std::move(node), {std::move(type)}, {free})).outputs[0];
}

void Rewriter::replace(ValueId old, ValueId by) { map_[static_cast<std::size_t>(old)] = by; }

Graph Rewriter::finish() {
  for (const NextState& n : from_.nexts) to_.nexts.push_back({n.state, value(n.value)});
  for (const Fetch& f : from_.fetches) to_.fetches.push_back({f.name, value(f.value)});
  return std::move(to_);
}

}  // namespace plait::ir
