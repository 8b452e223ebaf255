// Checks a graph against the op table: what each node states is what its op infers.
#include "ops/verify.h"

#include "ir/verify.h"
#include "ops/table.h"

namespace plait {
namespace {

void verify_node(const ir::Graph& graph, const ir::Node& node) {
  if (!find_op(node.op)) {
    fail("there is no op '", node.op, "' (", describe(graph, node), ").",
         suggestion(node.op, op_names()));
  }
  const NodeView view = view_of(graph, node);
  const std::vector<ir::Type> computed = infer(view);
  if (computed.size() != view.outputs.size()) {
    view.fail("states ", view.outputs.size(), " results, computes ", computed.size());
  }
  for (std::size_t i = 0; i < computed.size(); ++i) {
    ir::Type stated = view.outputs[i];
    stated.place = {};  // where a value lives is not the op's to say
    if (stated == computed[i]) continue;
    const std::string which = computed.size() == 1 ? "" : str("result ", i, ": ");
    view.fail(which, "states ", stated, ", computes ", computed[i]);
  }
}

}  // namespace

void verify_types(const ir::Graph& graph) {
  ir::verify(graph);
  for (const ir::Node& node : graph.nodes) {
    if (!node.opaque) verify_node(graph, node);
  }
}

}  // namespace plait
