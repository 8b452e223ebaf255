// Checks a graph against the op table: what each node states is what its op infers.
#include "ops/verify.h"

#include <map>
#include <set>
#include "base/text.h"

#include "ir/verify.h"
#include "ops/table.h"
#include "ops/update.h"

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

/// The state that a value is; null where it is none.
const ir::State* state_at(const ir::Graph& graph, ir::ValueId id) {
  if (graph.value(id).producer >= 0) return nullptr;
  const ir::StateUse* use = graph.find_state(graph.value(id).name);
  return use ? &use->state : nullptr;
}

/// The counter that a step is made from: `optim.step` of add(optim.step, 1). Null where it is none.
const ir::State* counter_of(const ir::Graph& graph, ir::ValueId step) {
  ir::NodeId maker = graph.value(step).producer;
  while (maker >= 0) {
    if (graph.node(maker).inputs.empty()) return nullptr;
    step = graph.node(maker).inputs.front();
    maker = graph.value(step).producer;
  }
  const ir::State* state = state_at(graph, step);
  return state && state->role == ir::Role::kCounter ? state : nullptr;
}

/// By counter, the values of parameters that are updated in its steps.
std::map<std::string, std::set<std::string>> updated_by_counter(const ir::Graph& graph) {
  constexpr std::size_t kWeight = 0, kStep = 5;
  std::map<std::string, std::set<std::string>> updated;
  for (const ir::Node& node : graph.nodes) {
    if (node.opaque || node.op != ops::adam_update.name) continue;
    const ir::State* counter = counter_of(graph, node.inputs[kStep]);
    const ir::State* weight = state_at(graph, node.inputs[kWeight]);
    if (counter && weight) updated[counter->name].insert(weight->name);
  }
  return updated;
}

/// Of the names in `a` that are not in `b`; empty when there is none.
std::string first_missing(const std::set<std::string>& a, const std::set<std::string>& b) {
  for (const std::string& name : a) {
    if (b.count(name) == 0) return name;
  }
  return "";
}

}  // namespace

void verify_step_counters(const ir::Package& package) {
  struct First {
    std::string graph;
    std::set<std::string> updated;
  };
  std::map<std::string, First> first;
  for (const ir::Graph& graph : package.graphs) {
    for (const auto& [counter, updated] : updated_by_counter(graph)) {
      const auto [it, added] = first.emplace(counter, First{graph.name, updated});
      const First& other = it->second;
      if (other.updated == updated) continue;
      const std::string here = first_missing(updated, other.updated);
      const std::string& name = here.empty() ? first_missing(other.updated, updated) : here;
      fail("graphs ", other.graph, " and ", graph.name, " both count their updates in ", counter,
           ", but only ", here.empty() ? other.graph : graph.name, " updates ", name,
           ": Adam's correction would be wrong. Give each optimizer a name of its own "
           "(nn::StepOptions{.name = \"generator\"})");
    }
  }
}

void verify_types(const ir::Graph& graph) {
  ir::verify(graph);
  for (const ir::Node& node : graph.nodes) {
    if (!node.opaque) verify_node(graph, node);
  }
}

}  // namespace plait
