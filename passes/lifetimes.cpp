// One walk forward: who makes each value, who needs it last.
#include "passes/lifetimes.h"

#include <algorithm>

#include "ops/constant.h"
#include "ops/table.h"

namespace plait {
namespace {

/// The value whose memory each value lies in: itself, or what a view looks at.
std::vector<ir::ValueId> owners_of(const ir::Graph& graph) {
  std::vector<ir::ValueId> owners(graph.values.size());
  for (std::size_t v = 0; v < owners.size(); ++v) owners[v] = static_cast<ir::ValueId>(v);
  for (const ir::Node& node : graph.nodes) {
    if (!is_view(node) || node.inputs.empty() || node.inputs[0] == ir::kNone) continue;
    for (ir::ValueId out : node.outputs) {
      owners[static_cast<std::size_t>(out)] = owners[static_cast<std::size_t>(node.inputs[0])];
    }
  }
  return owners;
}

}  // namespace

std::vector<Lifetime> lifetimes(const ir::Graph& graph) {
  const std::vector<ir::ValueId> owners = owners_of(graph);
  const std::size_t steps = graph.nodes.size();
  std::vector<std::size_t> last(graph.values.size(), 0);
  const auto need = [&](ir::ValueId id, std::size_t step) {
    if (id == ir::kNone) return;
    std::size_t& until = last[static_cast<std::size_t>(owners[static_cast<std::size_t>(id)])];
    until = std::max(until, step);
  };
  for (std::size_t step = 0; step < steps; ++step) {
    for (ir::ValueId id : graph.nodes[step].inputs) need(id, step);
    for (ir::ValueId id : graph.nodes[step].outputs) need(id, step);
  }
  for (const ir::NextState& n : graph.nexts) need(n.value, steps);
  for (const ir::Fetch& f : graph.fetches) need(f.value, steps);

  std::vector<Lifetime> found;
  for (std::size_t step = 0; step < steps; ++step) {
    const ir::Node& node = graph.nodes[step];
    if (!node.opaque && find_op(node.op) == &ops::constant) continue;
    for (ir::ValueId out : node.outputs) {
      const auto v = static_cast<std::size_t>(out);
      if (owners[v] != out) continue;
      found.push_back({out, graph.type(out).bytes().value(), static_cast<std::int64_t>(step),
                       static_cast<std::int64_t>(last[v])});
    }
  }
  return found;
}

}  // namespace plait
