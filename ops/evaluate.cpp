// Evaluates a node: as a nest, as written out in its entry, or as its decomposition.
#include "ops/evaluate.h"

#include <unordered_map>

#include "ops/table.h"

namespace plait {
namespace {

std::vector<Array> evaluate_parts(const NodeView& node, const std::vector<const Array*>& inputs) {
  const ir::Graph parts = decomposition_of(node);
  std::unordered_map<ir::ValueId, const Array*> known;
  std::unordered_map<ir::ValueId, Array> made;
  std::size_t feed = 0;
  for (const Array* input : inputs) {
    if (input) known[parts.feeds[feed++]] = input;
  }
  for (const ir::Node& part : parts.nodes) {
    std::vector<const Array*> operands;
    for (ir::ValueId id : part.inputs) {
      operands.push_back(id == ir::kNone ? nullptr : known.at(id));
    }
    std::vector<Array> results = evaluate(view_of(parts, part), operands);
    for (std::size_t i = 0; i < results.size(); ++i) {
      known[part.outputs[i]] = &(made[part.outputs[i]] = std::move(results[i]));
    }
  }
  std::vector<Array> outputs;
  for (const ir::Fetch& f : parts.fetches) outputs.push_back(*known.at(f.value));
  return outputs;
}

/// The message of a part of a composite, without the part's own prefix.
std::string bare(std::string_view what) {
  if (what.starts_with("[")) what.remove_prefix(what.find("] ") + 2);
  return std::string(what.substr(0, what.rfind(" (%")));
}

}  // namespace

std::vector<Array> evaluate(const NodeView& node, const std::vector<const Array*>& inputs) {
  try {
    if (node.op.decompose) return evaluate_parts(node, inputs);
    std::vector<Array> outputs;
    for (const ir::Type& t : node.outputs) outputs.emplace_back(t.dtype, sizes_of(t.shape));
    if (has_nest(node.op)) {
      loop::interpret(nest_of(node), inputs, outputs[0]);
    } else {
      EvalCtx ctx{node, inputs, outputs};
      node.op.eval(ctx);
    }
    return outputs;
  } catch (const RunError& e) {
    std::string text = str("[", node.op.name, "] ", bare(e.what()));
    if (!node.where.empty()) text += " (" + node.where + ")";
    throw RunError(text);
  }
}

}  // namespace plait
