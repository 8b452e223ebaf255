// Removes what nothing reads: one walk back from fetches and next states.
#include "passes/dead.h"

#include <algorithm>

#include "ir/rewrite.h"

namespace plait {

ir::Graph remove_dead(const ir::Graph& graph, DecisionLog& log) {
  std::vector<bool> live(graph.values.size(), false);
  auto mark = [&](ir::ValueId id) {
    if (id != ir::kNone) live[static_cast<std::size_t>(id)] = true;
  };
  auto is_live = [&](const ir::Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ir::ValueId id) { return live[static_cast<std::size_t>(id)]; });
  };
  for (const ir::Fetch& f : graph.fetches) mark(f.value);
  for (const ir::NextState& n : graph.nexts) mark(n.value);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!is_live(*node)) continue;
    for (ir::ValueId id : node->inputs) mark(id);
  }
  ir::Rewriter rewriter(graph);
  for (const ir::Node& node : graph.nodes) {
    if (is_live(node)) {
      rewriter.keep(node);
    } else {
      log.push_back({"dead", describe(graph, node), "removed", "nothing reads it"});
    }
  }
  return rewriter.finish();
}

}  // namespace plait
