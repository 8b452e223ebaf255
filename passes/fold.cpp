// Constant folding: values that are known while compiling, node by node.
#include "passes/fold.h"

#include <algorithm>
#include <unordered_map>

#include "ir/rewrite.h"
#include "ops/constant.h"
#include "ops/evaluate.h"
#include "ops/table.h"
#include "passes/node_text.h"

namespace plait {
namespace {

using Known = std::shared_ptr<const Array>;

bool is_symbolic(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Dim& d) { return !d.is_const(); });
}

bool is_symbolic(const ir::AttrValue& value) {
  if (const Dim* d = std::get_if<Dim>(&value)) return !d->is_const();
  const Shape* shape = std::get_if<Shape>(&value);
  return shape && is_symbolic(*shape);
}

class Folder {
 public:
  Folder(const ir::Graph& graph, DecisionLog& log) : graph_(graph), log_(log), rewriter_(graph) {}

  ir::Graph run() {
    for (const ir::Node& node : graph_.nodes) {
      if (node.op == ops::constant.name && !node.opaque) {
        known_[node.outputs[0]] =
            ir::decode<ops::Constant>(node.attrs, ops::constant.name).value.array;
        rewriter_.keep(node);
      } else if (is_candidate(node)) {
        visit(node);
      } else {
        rewriter_.keep(node);
      }
    }
    return rewriter_.finish();
  }

 private:
  bool is_candidate(const ir::Node& node) const {
    if (node.opaque || op_named(node.op).traits & kRandom) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ir::ValueId id) { return id == ir::kNone || known_.count(id); }) &&
           std::all_of(node.outputs.begin(), node.outputs.end(),
                       [&](ir::ValueId id) { return graph_.type(id).place.empty(); });
  }

  void visit(const ir::Node& node) {
    const NodeView view = view_of(graph_, node);
    if (const Decision d = worth_knowing(node); !d) return keep(node, d.why);
    std::vector<Array> results;
    try {
      results = evaluate(view, operands(node));
    } catch (const RunError& e) {  // it may never run, so it is not the compiler's to refuse
      return keep(node, e.what());
    }
    const std::int64_t before = operand_bytes(node), after = result_bytes(node);
    for (std::size_t i = 0; i < results.size(); ++i) {
      known_[node.outputs[i]] = std::make_shared<const Array>(std::move(results[i]));
    }
    const bool costs_nothing = (view.op.traits & kView) || node.inputs.empty();
    if (costs_nothing && after > before) {
      return keep(node, str("it takes ", with_commas(before), " bytes as it stands, ",
                            with_commas(after), " written out"));
    }
    for (ir::ValueId id : node.outputs) {
      const ir::Attrs value = ir::encode(ops::Constant{{known_[id]}});
      rewriter_.put({id}, {std::string(ops::constant.name), {}, {}, value, node.path, node.source});
    }
    log_.push_back({"fold", describe(graph_, node), "folded",
                    node_text(graph_, node) + " depends on constants alone"});
  }

  Decision worth_knowing(const ir::Node& node) const {
    for (ir::ValueId id : node.outputs) {
      if (is_symbolic(graph_.type(id).shape)) {
        return Decision::forbid(str("its type ", graph_.type(id), " is symbolic"));
      }
    }
    for (const auto& [name, value] : node.attrs) {
      if (is_symbolic(value)) {
        return Decision::forbid(str("its attribute ", name, " is ", attr_text(value)));
      }
    }
    const std::int64_t before = operand_bytes(node), after = result_bytes(node);
    if (after > std::max(before, kFoldedBytes)) {
      return Decision::forbid(str("it takes ", with_commas(after),
                                  " bytes written out, its operands ", with_commas(before)));
    }
    const std::int64_t work = operations_of(graph_, node).value();
    if (work <= kFoldedOperations) return Decision::allow();
    return Decision::forbid(str(with_commas(work), " operations are left to the run"));
  }

  void keep(const ir::Node& node, std::string why) {
    log_.push_back({"fold", describe(graph_, node), "kept", std::move(why)});
    rewriter_.keep(node);
  }

  std::vector<const Array*> operands(const ir::Node& node) const {
    std::vector<const Array*> arrays;
    for (ir::ValueId id : node.inputs) {
      arrays.push_back(id == ir::kNone ? nullptr : known_.at(id).get());
    }
    return arrays;
  }

  std::int64_t operand_bytes(const ir::Node& node) const {
    std::size_t bytes = 0;
    for (const Array* a : operands(node)) bytes += a ? a->byte_count() : 0;
    return static_cast<std::int64_t>(bytes);
  }

  std::int64_t result_bytes(const ir::Node& node) const {
    std::int64_t bytes = 0;
    for (ir::ValueId id : node.outputs) bytes += graph_.type(id).bytes().value();
    return bytes;
  }

  const ir::Graph& graph_;
  DecisionLog& log_;
  ir::Rewriter rewriter_;
  std::unordered_map<ir::ValueId, Known> known_;  // by value of the old graph
};

}  // namespace

ir::Graph fold_constants(const ir::Graph& graph, DecisionLog& log) {
  return Folder(graph, log).run();
}

}  // namespace plait
