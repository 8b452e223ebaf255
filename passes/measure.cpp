// Counting: sums over the nodes, and one walk for the live peak.
#include "passes/measure.h"

#include <algorithm>
#include <vector>

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

std::int64_t live_peak(const ir::Graph& graph) {
  const std::vector<ir::ValueId> owners = owners_of(graph);
  const std::size_t steps = graph.nodes.size();
  // The last node that needs each owner's memory; `steps` when it is needed after all of them.
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

  std::vector<std::int64_t> freed(steps + 1, 0);  // bytes that die after each node
  std::int64_t live = 0, peak = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    const ir::Node& node = graph.nodes[step];
    const bool constant = !node.opaque && find_op(node.op) == &ops::constant;
    for (ir::ValueId out : node.outputs) {
      const auto v = static_cast<std::size_t>(out);
      if (constant || owners[v] != out) continue;
      const std::int64_t bytes = graph.type(out).bytes().value();
      live += bytes;
      freed[last[v]] += bytes;
    }
    peak = std::max(peak, live);
    live -= freed[step];
  }
  return peak;
}

}  // namespace

Measures measure(const ir::Graph& graph) {
  Measures m;
  for (const ir::StateUse& use : graph.states) {
    if (use.state.role == ir::Role::kParam) m.parameters += use.state.type.elements().value();
  }
  for (const ir::Node& node : graph.nodes) {
    OpMeasures& op = m.by_op[node.op];
    const std::int64_t operations = operations_of(graph, node).value();
    const std::int64_t bytes = bytes_of(graph, node).value();
    op.count += 1;
    op.operations += operations;
    op.bytes += bytes;
    m.operations += operations;
    m.bytes += bytes;
  }
  m.live_peak_bytes = live_peak(graph);
  return m;
}

}  // namespace plait
