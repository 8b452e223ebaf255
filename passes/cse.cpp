// Merges nodes that compute the same: one walk forward, so that merging operands makes their
// readers equal too.
#include "passes/cse.h"

#include <algorithm>
#include <unordered_map>

#include "ir/rewrite.h"

namespace plait {
namespace {

const ir::Literal* literal_of(const std::pair<std::string, ir::AttrValue>& attr) {
  return std::get_if<ir::Literal>(&attr.second);
}

/// Equal for nodes that compute the same, but for the content of literals, which is only hashed.
/// Attributes count by their text: as numbers, 0.0 and -0.0 are equal.
std::string key_of(const ir::Node& node, const std::vector<ir::Type>& types) {
  std::string key = node.op;
  for (ir::ValueId id : node.inputs) key += ' ' + std::to_string(id);
  for (const auto& attr : node.attrs) {
    key += ' ' + attr.first + '=';
    if (const ir::Literal* literal = literal_of(attr)) {
      const std::string_view bytes(reinterpret_cast<const char*>(literal->array->data()),
                                   literal->array->byte_count());
      key += str(type_text(*literal->array), '#', std::hash<std::string_view>()(bytes));
    } else {
      key += attr_text(attr.second);
    }
  }
  for (const ir::Type& type : types) key += " : " + type_text(type);
  return key;
}

/// Of two nodes with one key: so their attributes pair up.
bool same_literals(const ir::Node& a, const ir::Node& b) {
  return std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(),
                    [](const auto& x, const auto& y) {
                      const ir::Literal *p = literal_of(x), *q = literal_of(y);
                      return !p || !q || *p == *q;
                    });
}

}  // namespace

ir::Graph merge_common(const ir::Graph& graph, DecisionLog& log) {
  ir::Rewriter rewriter(graph);
  std::unordered_map<std::string, std::vector<ir::NodeId>> seen;  // nodes of the new graph
  for (const ir::Node& old : graph.nodes) {
    if (old.opaque) {
      rewriter.keep(old);
      continue;
    }
    ir::Node node = rewriter.carried(old);
    std::vector<ir::Type> types;
    for (ir::ValueId id : old.outputs) types.push_back(graph.type(id));
    std::vector<ir::NodeId>& alike = seen[key_of(node, types)];
    const auto same = std::find_if(alike.begin(), alike.end(), [&](ir::NodeId id) {
      return same_literals(rewriter.graph().node(id), node);
    });
    if (same == alike.end()) {
      alike.push_back(static_cast<ir::NodeId>(rewriter.graph().nodes.size()));
      rewriter.put(old.outputs, std::move(node));
      continue;
    }
    const ir::Node& first = rewriter.graph().node(*same);
    log.push_back({"cse", describe(graph, old), "merged",
                   "the same as " + describe(rewriter.graph(), first)});
    for (std::size_t i = 0; i < old.outputs.size(); ++i) {
      rewriter.replace(old.outputs[i], first.outputs[i]);
    }
  }
  return rewriter.finish();
}

}  // namespace plait
