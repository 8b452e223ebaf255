// The graph once more, with casts of states moved to where the states are made.
#include "plan/rounded.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ir/rewrite.h"
#include "ops/compare.h"
#include "ops/table.h"

namespace plait::plan {
namespace {

/// A copy of a state.
struct Copy {
  ir::NodeId cast = ir::kNone;   // that reads the state; none: nothing in the graph does
  ir::ValueId next = ir::kNone;  // what the state becomes; none: it stays
  std::string state;
  DType dtype = DType::f32;
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

class Copies {
 public:
  Copies(const ir::Graph& graph, const program::StateTable& table, NewCopies add, DecisionLog& log)
      : graph_(graph), table_(table), add_(add), log_(log) {}

  std::vector<Copy> run() {
    for (const ir::NextState& n : graph_.nexts) {
      results_.insert(n.value);
      if (n.value != graph_.find_state(n.state)->value) nexts_.emplace(n.state, n.value);
    }
    for (const ir::Fetch& f : graph_.fetches) results_.insert(f.value);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) look_at(static_cast<ir::NodeId>(i));
    for (const program::TableEntry& e : table_.entries) {
      const DType dtype = e.state.type.dtype;
      const ir::ValueId next = next_of(e.state.name);
      if (!e.is_copy || next == ir::kNone || is_taken(e.state.name, dtype)) continue;
      out_.push_back({ir::kNone, next, e.state.name, dtype});
    }
    return std::move(out_);
  }

 private:
  /// None where the graph leaves the state as it is.
  ir::ValueId next_of(const std::string& state) const {
    const auto next = nexts_.find(state);
    return next == nexts_.end() ? ir::kNone : next->second;
  }

  bool is_taken(const std::string& state, DType dtype) const {
    return std::any_of(out_.begin(), out_.end(),
                       [&](const Copy& c) { return c.state == state && c.dtype == dtype; });
  }

  bool may_add(const std::string& state) const {
    const ir::ValueId next = next_of(state);
    const program::TableEntry* known = table_.find(state);
    return add_ == NewCopies::kYes && next != ir::kNone &&
           graph_.value(next).producer != ir::kNone && !(known && known->advanced);
  }

  void look_at(ir::NodeId number) {
    const ir::Node& node = graph_.node(number);
    if (node.inputs.empty() || node.inputs[0] == ir::kNone) return;
    const ir::Value& from = graph_.value(node.inputs[0]);
    if (from.producer != ir::kNone || !graph_.find_state(from.name)) return;
    if (!only_rounds(graph_, node) || results_.count(node.outputs[0])) return;
    const DType dtype = graph_.type(node.outputs[0]).dtype;
    const bool known = table_.find_copy(from.name, dtype) != nullptr;
    if (is_taken(from.name, dtype) || (!known && !may_add(from.name))) return;
    out_.push_back({number, next_of(from.name), from.name, dtype});
    log_.push_back(
        {"keep", "%" + graph_.value(node.outputs[0]).name, "kept",
         str("as a rounded copy of state ", from.name, ", written by ",
             out_.back().next == ir::kNone ? "the program that updates it" : "its update")});
  }

  const ir::Graph& graph_;
  const program::StateTable& table_;
  const NewCopies add_;
  DecisionLog& log_;
  std::map<std::string, ir::ValueId> nexts_;  // by state, of those that change
  std::set<ir::ValueId> results_;
  std::vector<Copy> out_;
};

class Keeping {
 public:
  Keeping(const ir::Graph& from, std::vector<Copy> copies)
      : from_(from), copies_(std::move(copies)), rewriter_(from) {}

  Rounded run() {
    for (std::size_t i = 0; i < copies_.size(); ++i) add_state(i);
    for (const ir::ValueId v : from_.feeds) round(v);
    for (const ir::StateUse& use : from_.states) round(use.value);
    for (std::size_t i = 0; i < from_.nodes.size(); ++i) {
      const ir::Node& node = from_.nodes[i];
      if (!dropped_.count(static_cast<ir::NodeId>(i))) rewriter_.keep(node);
      for (const ir::ValueId v : node.outputs) round(v);
    }
    out_.graph = rewriter_.finish();
    out_.graph.nexts.insert(out_.graph.nexts.end(), nexts_.begin(), nexts_.end());
    return std::move(out_);
  }

 private:
  /// The copy as the run finds it.
  void add_state(std::size_t number) {
    const Copy& c = copies_[number];
    const bool is_read = c.cast != ir::kNone;
    ir::State state;
    state.name = rewriter_.graph().fresh_name(str(cast_name(c), ".kept"));
    while (from_.find_value(state.name) != ir::kNone) state.name += "_";
    state.type = {c.dtype, from_.find_state(c.state)->state.type.shape};
    state.role = ir::Role::kSlot;
    const ir::ValueId added = rewriter_.graph().add_state(state);
    if (is_read) {
      rewriter_.replace(from_.node(c.cast).outputs[0], added);
      dropped_.insert(c.cast);
    }
    out_.of.emplace(state.name, c.state);
    names_.push_back(state.name);
  }

  std::string cast_name(const Copy& c) const {
    return c.cast == ir::kNone ? str(c.state, ".", c.dtype)
                               : from_.value(from_.node(c.cast).outputs[0]).name;
  }

  /// What a state becomes is known: so is what its copy becomes. It has the cast's name.
  void round(ir::ValueId v) {
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      const Copy& c = copies_[i];
      if (c.next != v) continue;
      ir::Node cast;
      std::string name = cast_name(c);
      if (c.cast != ir::kNone) {
        cast = from_.node(c.cast);
      } else {
        cast.op = ops::cast.name;
        cast.attrs = ir::encode(ops::Cast{c.dtype});
        name = rewriter_.graph().fresh_name(name);
        while (from_.find_value(name) != ir::kNone) name += "_";
      }
      cast.inputs = {rewriter_.value(v)};
      const ir::Type type{c.dtype, from_.find_state(c.state)->state.type.shape};
      const ir::NodeId added = rewriter_.graph().add_node(std::move(cast), {type}, {name});
      nexts_.push_back({names_[i], rewriter_.graph().node(added).outputs[0]});
    }
  }

  const ir::Graph& from_;
  const std::vector<Copy> copies_;
  Rounded out_;
  ir::Rewriter rewriter_;
  std::set<ir::NodeId> dropped_;    // casts that copies replace
  std::vector<std::string> names_;  // of the copies
  std::vector<ir::NextState> nexts_;
};

}  // namespace

std::optional<Rounded> keep_rounded(const ir::Graph& graph, const program::StateTable& table,
                                    NewCopies add, DecisionLog& log) {
  std::vector<Copy> copies = Copies(graph, table, add, log).run();
  if (copies.empty()) return std::nullopt;
  return Keeping(graph, std::move(copies)).run();
}

}  // namespace plait::plan
