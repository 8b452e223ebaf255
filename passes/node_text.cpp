// Nodes and values as the decision log says them.
#include "passes/node_text.h"

#include "base/text.h"

namespace plait {

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
