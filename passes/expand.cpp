// Inlines decompositions, composites inside composites included.
#include "passes/expand.h"

#include <unordered_map>

#include "base/at.h"
#include "ops/table.h"

namespace plait {
namespace {

class Expansion {
 public:
  Expansion(const ir::Graph& from, const Keep& keep, DecisionLog& log)
      : from_(from), keep_(keep), log_(log) {
    to_.name = from.name;
    to_.reserve(from.nodes.size(), from.values.size());
    map_.assign(from.values.size(), ir::kNone);
    for (ir::ValueId id : from.feeds) {
      map_[at(id)] = to_.add_feed(from.value(id).name, from.type(id));
    }
    for (const ir::StateUse& use : from.states) map_[at(use.value)] = to_.add_state(use.state);
  }

  ir::Graph run() {
    for (const ir::Node& node : from_.nodes) {
      std::vector<ir::ValueId> inputs;
      for (ir::ValueId id : node.inputs) inputs.push_back(mapped(id));
      std::vector<std::string> names;
      for (ir::ValueId id : node.outputs) names.push_back(from_.value(id).name);
      const std::vector<ir::ValueId> outputs = place(from_, node, inputs, names, node);
      for (std::size_t i = 0; i < outputs.size(); ++i) map_[at(node.outputs[i])] = outputs[i];
    }
    for (const ir::NextState& n : from_.nexts) to_.nexts.push_back({n.state, mapped(n.value)});
    for (const ir::Fetch& f : from_.fetches) to_.fetches.push_back({f.name, mapped(f.value)});
    return std::move(to_);
  }

 private:
  ir::ValueId mapped(ir::ValueId id) const { return id == ir::kNone ? ir::kNone : map_[at(id)]; }

  /// Adds a node, or what it is made of; returns the values that stand for its outputs.
  std::vector<ir::ValueId> place(const ir::Graph& graph, const ir::Node& node,
                                 const std::vector<ir::ValueId>& inputs,
                                 const std::vector<std::string>& names, const ir::Node& origin) {
    if (!node.opaque && op_named(node.op).decompose) {
      const NodeView view = view_of(graph, node);
      if (!keeps(view, origin)) return inline_parts(view, inputs, names, origin);
    }
    std::vector<ir::Type> types;
    for (ir::ValueId id : node.outputs) types.push_back(graph.type(id));
    ir::Node copy{node.op, inputs, {}, node.attrs, origin.path, origin.source, node.opaque};
    const ir::NodeId id = to_.add_node(std::move(copy), types, names);
    return to_.node(id).outputs;
  }

  bool keeps(const NodeView& view, const ir::Node& origin) {
    if (!keep_) return false;
    const Decision kept = keep_(view);
    if (kept || !kept.why.empty()) {
      log_.push_back({"keep", describe(from_, origin), kept ? "whole" : "expanded", kept.why});
    }
    return static_cast<bool>(kept);
  }

  std::vector<ir::ValueId> inline_parts(const NodeView& view,
                                        const std::vector<ir::ValueId>& inputs,
                                        const std::vector<std::string>& names,
                                        const ir::Node& origin) {
    const ir::Graph parts = decomposition_of(view);
    std::unordered_map<ir::ValueId, ir::ValueId> inner;
    std::size_t feed = 0;
    for (ir::ValueId id : inputs) {
      if (id != ir::kNone) inner[parts.feeds[feed++]] = id;
    }
    std::unordered_map<ir::ValueId, std::string> result_names;
    for (std::size_t i = 0; i < parts.fetches.size(); ++i) {
      result_names.emplace(parts.fetches[i].value, names[i]);
    }
    for (const ir::Node& part : parts.nodes) {
      std::vector<ir::ValueId> operands;
      for (ir::ValueId id : part.inputs) {
        operands.push_back(id == ir::kNone ? ir::kNone : inner.at(id));
      }
      std::vector<std::string> made;
      for (ir::ValueId id : part.outputs) {
        const auto named = result_names.find(id);
        made.push_back(named != result_names.end() ? named->second
                                                   : to_.fresh_name(names[0] + "." + part.op));
      }
      const std::vector<ir::ValueId> outputs = place(parts, part, operands, made, origin);
      for (std::size_t i = 0; i < outputs.size(); ++i) inner[part.outputs[i]] = outputs[i];
    }
    std::vector<ir::ValueId> results;
    for (const ir::Fetch& f : parts.fetches) results.push_back(inner.at(f.value));
    return results;
  }

  const ir::Graph& from_;
  const Keep& keep_;
  DecisionLog& log_;
  ir::Graph to_;
  std::vector<ir::ValueId> map_;  // by value of from_
};

}  // namespace

ir::Graph expand(const ir::Graph& graph, DecisionLog& log, const Keep& keep) {
  return Expansion(graph, keep, log).run();
}

}  // namespace plait
