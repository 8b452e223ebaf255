// Fetches by what they are.
#include "io/chainer/results.h"

#include <algorithm>
#include <set>

#include "base/at.h"
#include "base/error.h"
#include "base/text.h"

namespace plait::io::chainer {
namespace {

/// Values that depend on a parameter.
std::vector<bool> reached(const ir::Graph& graph) {
  std::vector<bool> out(graph.values.size(), false);
  for (const ir::StateUse& use : graph.states) {
    out[at(use.value)] = use.state.role == ir::Role::kParam;
  }
  for (const ir::Node& node : graph.nodes) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ir::ValueId in) { return in != ir::kNone && out[at(in)]; });
    for (ir::ValueId y : node.outputs) out[at(y)] = any;
  }
  return out;
}

bool trains(const ir::Graph& graph) {
  std::set<std::string> parameters;
  for (const ir::StateUse& use : graph.states) {
    if (use.state.role == ir::Role::kParam) parameters.insert(use.state.name);
  }
  return std::any_of(graph.nexts.begin(), graph.nexts.end(),
                     [&](const ir::NextState& next) { return parameters.count(next.state) > 0; });
}

[[noreturn]] void refuse_step(const ir::Graph& graph) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names;
  for (const ir::Fetch& fetch : graph.fetches) {
    if (names.size() < kShown) names.push_back(fetch.name);
  }
  fail("graph ", graph.name, " changes parameters but returns no loss, from which a backward of ",
       "Chainer could be told. It returns ", join(names, ", "),
       names.size() < graph.fetches.size() ? ", ..." : "",
       ": return the loss as a float without axes");
}

}  // namespace

Results results_of(const ir::Graph& graph) {
  if (graph.fetches.empty()) fail("graph ", graph.name, " returns nothing, so it has no loss");
  std::set<std::string> gradients;
  for (const ir::StateUse& use : graph.states) gradients.insert("d_" + use.state.name);
  const std::vector<bool> trained = reached(graph);
  Results results;
  for (const ir::Fetch& fetch : graph.fetches) {
    if (gradients.count(fetch.name) > 0) continue;
    results.told.push_back(fetch.value);
    const ir::Type& type = graph.type(fetch.value);
    if (results.loss == ir::kNone && type.shape.empty() && is_float(type.dtype) &&
        trained[at(fetch.value)]) {
      results.loss = fetch.value;
    }
  }
  if (results.loss == ir::kNone && trains(graph)) refuse_step(graph);
  return results;
}

}  // namespace plait::io::chainer
