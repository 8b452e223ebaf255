// Rebuilding a graph node by node.
#include "passes/rewrite.h"

namespace plait {

Rewriter::Rewriter(const ir::Graph& from) : from_(from), map_(from.values.size(), ir::kNone) {
  to_.name = from.name;
  to_.reserve(from.nodes.size(), from.values.size());
  for (ir::ValueId id : from.feeds) {
    replace(id, to_.add_feed(from.value(id).name, from.type(id)));
  }
  for (const ir::StateUse& use : from.states) replace(use.value, to_.add_state(use.state));
}

ir::ValueId Rewriter::value(ir::ValueId old) const {
  if (old == ir::kNone) return ir::kNone;
  const ir::ValueId id = map_[static_cast<std::size_t>(old)];
  check(id != ir::kNone, "%", from_.value(old).name, " of graph ", from_.name,
        " is read, but was dropped");
  return id;
}

ir::Node Rewriter::carried(const ir::Node& old) const {
  ir::Node node = old;
  node.outputs.clear();
  for (ir::ValueId& id : node.inputs) id = value(id);
  return node;
}

void Rewriter::put(const std::vector<ir::ValueId>& old, ir::Node node) {
  std::vector<ir::Type> types;
  std::vector<std::string> names;
  for (ir::ValueId id : old) {
    types.push_back(from_.type(id));
    names.push_back(from_.value(id).name);
  }
  const ir::NodeId made = to_.add_node(std::move(node), types, std::move(names));
  for (std::size_t i = 0; i < old.size(); ++i) replace(old[i], to_.node(made).outputs[i]);
}

void Rewriter::replace(ir::ValueId old, ir::ValueId by) {
  map_[static_cast<std::size_t>(old)] = by;
}

ir::Graph Rewriter::finish() {
  for (const ir::NextState& n : from_.nexts) to_.nexts.push_back({n.state, value(n.value)});
  for (const ir::Fetch& f : from_.fetches) to_.fetches.push_back({f.name, value(f.value)});
  return std::move(to_);
}

std::string value_text(const ir::Graph& graph, ir::ValueId id) {
  if (id == ir::kNone) return "_";
  return (graph.value(id).producer == ir::kNone ? "" : "%") + graph.value(id).name;
}

std::string node_text(const ir::Graph& graph, const ir::Node& node) {
  std::vector<std::string> parts;
  for (ir::ValueId id : node.inputs) parts.push_back(value_text(graph, id));
  for (const auto& [name, value] : node.attrs) parts.push_back(name + "=" + attr_text(value));
  return node.op + "(" + join(parts, ", ") + ")";
}

}  // namespace plait
