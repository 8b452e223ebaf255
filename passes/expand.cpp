// Inlines decompositions, composites inside composites included.
#include "passes/expand.h"

#include <unordered_map>

#include "ir/rewrite.h"
#include "ops/table.h"

namespace plait {
namespace {

class Expansion {
 public:
  Expansion(const ir::Graph& from, const Keep& keep, DecisionLog& log)
      : from_(from), keep_(keep), log_(log), rewriter_(from) {}

  ir::Graph run() {
    for (const ir::Node& node : from_.nodes) {
      if (!is_expanded(from_, node, node)) {
        rewriter_.keep(node);
        continue;
      }
      std::vector<std::string> names;
      for (ir::ValueId id : node.outputs) names.push_back(from_.value(id).name);
      const std::vector<ir::ValueId> made =
          inline_parts(view_of(from_, node), rewriter_.carried(node).inputs, names, node);
      for (std::size_t i = 0; i < made.size(); ++i) rewriter_.replace(node.outputs[i], made[i]);
    }
    return rewriter_.finish();
  }

 private:
  /// Adds a part, or what it is made of; returns the values that stand for its outputs.
  std::vector<ir::ValueId> place(const ir::Graph& parts, const ir::Node& part,
                                 const std::vector<ir::ValueId>& inputs,
                                 const std::vector<std::string>& names, const ir::Node& origin) {
    if (is_expanded(parts, part, origin)) {
      return inline_parts(view_of(parts, part), inputs, names, origin);
    }
    std::vector<ir::Type> types;
    for (ir::ValueId id : part.outputs) types.push_back(parts.type(id));
    ir::Node copy{part.op, inputs, {}, part.attrs, origin.path, origin.source, part.opaque};
    return to().node(to().add_node(std::move(copy), types, names)).outputs;
  }

  /// `origin`: the node of the old graph that it is a part of, or itself.
  bool is_expanded(const ir::Graph& graph, const ir::Node& node, const ir::Node& origin) {
    if (node.opaque || !op_named(node.op).decompose) return false;
    if (!keep_) return true;
    const Decision kept = keep_(view_of(graph, node));
    if (kept || !kept.why.empty()) {
      log_.push_back({"keep", describe(from_, origin), kept ? "whole" : "expanded", kept.why});
    }
    return !kept;
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
                                                   : to().fresh_name(names[0] + "." + part.op));
      }
      const std::vector<ir::ValueId> outputs = place(parts, part, operands, made, origin);
      for (std::size_t i = 0; i < outputs.size(); ++i) inner[part.outputs[i]] = outputs[i];
    }
    std::vector<ir::ValueId> results;
    for (const ir::Fetch& f : parts.fetches) results.push_back(inner.at(f.value));
    return results;
  }

  ir::Graph& to() { return rewriter_.graph(); }

  const ir::Graph& from_;
  const Keep& keep_;
  DecisionLog& log_;
  ir::Rewriter rewriter_;
};

}  // namespace

ir::Graph expand(const ir::Graph& graph, DecisionLog& log, const Keep& keep) {
  return Expansion(graph, keep, log).run();
}

}  // namespace plait
