// Two walks over the graph as it was before its gradients: forwards from the parameters, and back
// from the loss as a gradient would go.
#include "passes/gradient_path.h"

#include "base/error.h"
#include "ops/table.h"

namespace plait {
namespace {

using ir::ValueId;
using ValueSet = std::vector<bool>;  // of values, by id

bool has(const ValueSet& set, ValueId id) {
  return id != ir::kNone && static_cast<std::size_t>(id) < set.size() &&
         set[static_cast<std::size_t>(id)];
}
bool has_one(const ValueSet& set, const std::vector<ValueId>& ids) {
  for (const ValueId id : ids) {
    if (has(set, id)) return true;
  }
  return false;
}
void insert(ValueSet& set, ValueId id) {
  if (id != ir::kNone) set[static_cast<std::size_t>(id)] = true;
}

enum class Through { kAll, kFloats };
/// Everything that is computed from them.
ValueSet computed_from(const ir::Graph& graph, const std::vector<ValueId>& from, Through through) {
  ValueSet set(graph.values.size(), false);
  for (const ValueId id : from) insert(set, id);
  for (const ir::Node& node : graph.nodes) {
    if (!has_one(set, node.inputs)) continue;
    for (const ValueId id : node.outputs) {
      if (through == Through::kAll || is_float(graph.type(id).dtype)) insert(set, id);
    }
  }
  return set;
}

class Walk {
 public:
  Walk(const ir::Graph& graph, const std::vector<ValueId>& from, const ValueSet& received)
      : graph_(graph),
        dependent_(computed_from(graph, from, Through::kAll)),
        by_floats_(computed_from(graph, from, Through::kFloats)),
        received_(received),
        open_(graph.values.size(), false),
        closed_(graph.values.size(), false) {}

  std::string back_from(ValueId loss) {
    if (!has(dependent_, loss)) return "";
    insert(open_, loss);
    for (ir::NodeId n = graph_.value(loss).producer; n >= 0; --n) {
      const ir::Node& node = graph_.node(n);
      if (!has_one(open_, node.outputs) && !has_one(closed_, node.outputs)) continue;
      const std::string reason = why_it_ends(node);
      if (!reason.empty()) return str(describe(graph_, node), ": ", node.op, " ", reason);
      pass(node);
    }
    return "";
  }

 private:
  bool is_float_value(ValueId id) const { return is_float(graph_.type(id).dtype); }
  bool stops(const ir::Node& node) const {
    return !node.opaque && (op_named(node.op).traits & kNoFlow) != 0;
  }

  /// Empty where it does not end at this node.
  std::string why_it_ends(const ir::Node& node) const {
    const bool open = has_one(open_, node.outputs);
    for (const ValueId id : node.inputs) {
      if (!has(dependent_, id) || !is_float_value(id)) continue;
      if (open && stops(node)) return "lets none through";
      const bool arrived = open && has_one(received_, node.outputs);
      if (arrived && has(by_floats_, id) && !has(received_, id)) return "passes none on";
      if (!open && !is_float_value(node.outputs.front())) {
        return str("makes ", graph_.type(node.outputs.front()).dtype, " of ", graph_.type(id).dtype,
                   ", and gradients flow through floats alone");
      }
    }
    return "";
  }

  void pass(const ir::Node& node) {
    const bool open = has_one(open_, node.outputs) && !stops(node);
    for (const ValueId id : node.inputs) {
      if (id != ir::kNone) insert(open && is_float_value(id) ? open_ : closed_, id);
    }
  }

  const ir::Graph& graph_;
  const ValueSet dependent_, by_floats_;
  const ValueSet& received_;
  ValueSet open_;    // a gradient would come here, if one set out
  ValueSet closed_;  // the loss is computed from it, but no gradient comes
};

}  // namespace

std::string where_gradient_ends(const ir::Graph& graph, ValueId loss,
                                const std::vector<ValueId>& from,
                                const std::vector<bool>& received) {
  return Walk(graph, from, received).back_from(loss);
}

}  // namespace plait
