// Which node raised the error of a generated kernel.
#include "run/culprit.h"

#include <algorithm>
#include <unordered_set>

#include "backends/runtime.h"
#include "base/text.h"
#include "ir/text.h"
#include "ops/table.h"

namespace plait {
namespace {

using Names = std::unordered_set<std::string>;

bool divides(const loop::Expr& e) {
  if (!e) return false;
  const loop::Tape tape = loop::flatten(e);
  return std::any_of(tape.steps.begin(), tape.steps.end(), [](const loop::Tape::Step& s) {
    return s.op == loop::ScalarOp::kFloorDiv || s.op == loop::ScalarOp::kMod;
  });
}

bool is_real(const ir::Type* t) { return t && is_float(t->dtype); }

/// Whether a node can raise the error.
bool may_raise(const ir::Graph& graph, const ir::Node& node, bool division) {
  if (node.opaque) return false;
  const NodeView view = view_of(graph, node);
  if (!has_nest(view.op)) return false;
  const loop::Nest nest = nest_of(view);
  if (!division) return !nest.loaded.empty();
  if (std::any_of(view.inputs.begin(), view.inputs.end(), is_real)) return false;
  return divides(nest.body) || divides(nest.finish);
}

/// Values of a step, and those without a step that it makes on its way.
Names made_in(const ir::Graph& graph, const program::Program& program, const program::Step& step) {
  Names elsewhere, made;
  for (const program::Step& s : program.steps) elsewhere.insert(s.nodes.begin(), s.nodes.end());
  std::vector<std::string> open = step.nodes;
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    const ir::ValueId id = graph.find_value(name);
    if (id == ir::kNone || graph.value(id).producer == ir::kNone) continue;
    if (!made.insert(name).second) continue;
    for (ir::ValueId input : graph.node(graph.value(id).producer).inputs) {
      if (input == ir::kNone || elsewhere.count(graph.value(input).name)) continue;
      open.push_back(graph.value(input).name);
    }
  }
  return made;
}

}  // namespace

std::string culprits(const program::Program& program, const program::Step* step,
                     std::string_view error) {
  const bool division = error == kDivisionError;
  if (!division && error != kIndexError) return "";
  const ir::Graph graph = ir::parse_graph(program.graph_text, program.graph_name);
  const Names made = step ? made_in(graph, program, *step) : Names();
  std::vector<std::string> found;
  for (const ir::Node& node : graph.nodes) {
    const std::string& name = graph.value(node.outputs[0]).name;
    if (step && !made.count(name)) continue;
    if (!may_raise(graph, node, division)) continue;
    found.push_back("%" + name + (node.path.empty() ? "" : " @ " + node.path));
  }
  return (found.size() > 1 ? "one of " : "") + join(found, ", ");
}

}  // namespace plait
