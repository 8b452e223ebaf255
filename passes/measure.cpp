// Counting: sums over the nodes, and one walk for the live peak.
#include "passes/measure.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "ops/table.h"
#include "passes/lifetimes.h"

namespace plait {
namespace {

std::int64_t live_peak(const ir::Graph& graph) {
  std::vector<std::int64_t> made(graph.nodes.size() + 1, 0), freed(graph.nodes.size() + 1, 0);
  for (const Lifetime& life : lifetimes(graph)) {
    add_checked(made[static_cast<std::size_t>(life.first)], life.bytes, "bytes");
    add_checked(freed[static_cast<std::size_t>(life.last)], life.bytes, "bytes");
  }
  std::int64_t live = 0, peak = 0;
  for (std::size_t step = 0; step < made.size(); ++step) {
    add_checked(live, made[step], "bytes");
    peak = std::max(peak, live);
    live -= freed[step];
  }
  return peak;
}

}  // namespace

Measures measure(const ir::Graph& graph) {
  Measures m;
  for (const ir::StateUse& use : graph.states) {
    if (use.state.role == ir::Role::kParam) {
      add_checked(m.parameters, use.state.type.elements().value(), "parameters");
    }
  }
  for (const ir::Node& node : graph.nodes) {
    OpMeasures& op = m.by_op[node.op];
    const std::int64_t operations = operations_of(graph, node).value();
    const std::int64_t bytes = bytes_of(graph, node).value();
    op.count += 1;
    add_checked(op.operations, operations, "operations");
    add_checked(op.bytes, bytes, "bytes");
    add_checked(m.operations, operations, "operations");
    add_checked(m.bytes, bytes, "bytes");
  }
  m.live_peak_bytes = live_peak(graph);
  return m;
}

}  // namespace plait
