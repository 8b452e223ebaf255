// The graph once more, with casts of states moved to where the states are made.
#include "plan/rounded.h"

#include <map>
#include <set>
#include <utility>

#include "base/at.h"
#include "base/text.h"
#include "ops/table.h"

namespace plait::plan {
namespace {

/// A cast of a state.
struct Copy {
  ir::NodeId cast = ir::kNone;
  ir::ValueId next = ir::kNone;  // what the state becomes
  std::string state;
};

/// Whether a node's results are its operand's elements, as a narrower float.
bool only_rounds(const ir::Graph& graph, const ir::Node& node) {
  if (node.inputs.size() != 1 || node.outputs.size() != 1 || node.opaque) return false;
  const ir::Type &from = graph.type(node.inputs[0]), &to = graph.type(node.outputs[0]);
  if (!is_float(from.dtype) || !is_float(to.dtype) || size_of(to.dtype) >= size_of(from.dtype)) {
    return false;
  }
  const NodeView view = view_of(graph, node);
  return (view.op.traits & kElementwise) != 0 && has_nest(view.op) &&
         nest_of(view).body.node().op == loop::ScalarOp::kLoad;
}

std::vector<Copy> copies_in(const ir::Graph& graph) {
  std::map<ir::ValueId, const ir::NextState*> advanced;  // by the state's old value
  std::set<ir::ValueId> results;
  for (const ir::NextState& n : graph.nexts) {
    results.insert(n.value);
    if (graph.value(n.value).producer != ir::kNone) {
      advanced.emplace(graph.find_state(n.state)->value, &n);
    }
  }
  for (const ir::Fetch& f : graph.fetches) results.insert(f.value);
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ir::Node& node = graph.nodes[i];
    const auto state = node.inputs.empty() ? advanced.end() : advanced.find(node.inputs[0]);
    if (state == advanced.end() || !only_rounds(graph, node)) continue;
    if (results.count(node.outputs[0])) continue;
    copies.push_back({static_cast<ir::NodeId>(i), state->second->value, state->second->state});
  }
  return copies;
}

class Keeping {
 public:
  Keeping(const ir::Graph& from, std::vector<Copy> copies)
      : from_(from), copies_(std::move(copies)), map_(from.values.size(), ir::kNone) {}

  Rounded run() {
    ir::Graph& to = out_.graph;
    to.name = from_.name;
    for (const ir::ValueId v : from_.feeds) {
      map_[at(v)] = to.add_feed(from_.value(v).name, from_.type(v));
    }
    for (const ir::StateUse& use : from_.states) map_[at(use.value)] = to.add_state(use.state);
    for (const Copy& c : copies_) add_state(c);
    for (std::size_t i = 0; i < from_.nodes.size(); ++i) {
      const ir::Node& node = from_.nodes[i];
      if (!names_.count(static_cast<ir::NodeId>(i))) add(node);
      for (const ir::ValueId v : node.outputs) round(v);
    }
    for (const ir::NextState& n : from_.nexts) to.nexts.push_back({n.state, map_[at(n.value)]});
    for (const ir::Fetch& f : from_.fetches) to.fetches.push_back({f.name, map_[at(f.value)]});
    to.nexts.insert(to.nexts.end(), nexts_.begin(), nexts_.end());
    return std::move(out_);
  }

 private:
  void add(const ir::Node& node) {
    ir::Node copy = node;
    for (ir::ValueId& v : copy.inputs) v = v == ir::kNone ? v : map_[at(v)];
    std::vector<ir::Type> types;
    std::vector<std::string> names;
    for (const ir::ValueId v : node.outputs) {
      types.push_back(from_.type(v));
      names.push_back(from_.value(v).name);
    }
    const ir::NodeId added = out_.graph.add_node(std::move(copy), types, std::move(names));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      map_[at(node.outputs[i])] = out_.graph.node(added).outputs[i];
    }
  }

  /// The copy as the run finds it.
  void add_state(const Copy& c) {
    const ir::ValueId cast = from_.node(c.cast).outputs[0];
    ir::State state;
    state.name = out_.graph.fresh_name(str(from_.value(cast).name, ".kept"));
    while (from_.find_value(state.name) != ir::kNone) state.name += "_";
    state.type = from_.type(cast);
    state.role = ir::Role::kSlot;
    map_[at(cast)] = out_.graph.add_state(state);
    out_.of.push_back(c.state);
    names_[c.cast] = state.name;
  }

  /// What a state becomes is known: so is what its copy becomes. It has the cast's name.
  void round(ir::ValueId v) {
    for (const Copy& c : copies_) {
      if (c.next != v) continue;
      ir::Node cast = from_.node(c.cast);
      const ir::ValueId old = cast.outputs[0];
      cast.inputs = {map_[at(v)]};
      const ir::NodeId added =
          out_.graph.add_node(std::move(cast), {from_.type(old)}, {from_.value(old).name});
      nexts_.push_back({names_.at(c.cast), out_.graph.node(added).outputs[0]});
    }
  }

  const ir::Graph& from_;
  const std::vector<Copy> copies_;
  Rounded out_;
  std::vector<ir::ValueId> map_;             // by old value
  std::map<ir::NodeId, std::string> names_;  // of copies, by the cast that they replace
  std::vector<ir::NextState> nexts_;
};

}  // namespace

std::optional<Rounded> keep_rounded(const ir::Graph& graph, DecisionLog& log) {
  std::vector<Copy> copies = copies_in(graph);
  if (copies.empty()) return std::nullopt;
  for (const Copy& c : copies) {
    log.push_back({"keep", "%" + graph.value(graph.node(c.cast).outputs[0]).name, "kept",
                   str("as a rounded copy of state ", c.state, ", written by its update")});
  }
  return Keeping(graph, std::move(copies)).run();
}

}  // namespace plait::plan
