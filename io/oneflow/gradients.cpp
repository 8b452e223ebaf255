// Gradients of parameters.
#include "io/oneflow/gradients.h"

#include <unordered_map>
#include <unordered_set>

namespace plait::io::oneflow {
namespace {

constexpr std::string_view kOptimizer = "_optimizer";

/// The traced ops by what they make and read.
struct Trace {
  std::unordered_map<std::string_view, const TracedOp*> maker;
  std::unordered_map<std::string_view, std::vector<const TracedOp*>> readers;
  std::unordered_map<std::string_view, const TracedOp*> norms;     // layer_norm by its mean
  std::unordered_map<std::string_view, const TracedOp*> scans;     // wkv by its k
  std::unordered_map<std::string_view, const TracedOp*> matrices;  // by module; null for several
  std::map<std::string, std::string> found;

  static std::string_view tensor(const std::vector<Port>& ports, std::string_view key) {
    for (const Port& p : ports) {
      if (p.key == key && p.tensors.size() == 1) return p.tensors[0];
    }
    return {};
  }

  explicit Trace(const Record& record) {
    for (const TracedOp& op : record.ops) {
      for (const Port& p : op.outputs) {
        for (const std::string& t : p.tensors) maker.emplace(t, &op);
      }
      for (const Port& p : op.inputs) {
        for (const std::string& t : p.tensors) readers[t].push_back(&op);
      }
      if (op.type == "layer_norm") norms.emplace(tensor(op.outputs, "mean"), &op);
      if (op.kind == OpKind::kVariable && op.blob->shape.size() == 2) {
        const std::string_view name = op.name;
        const auto [at, added] = matrices.emplace(name.substr(0, name.rfind('.')), &op);
        if (!added) at->second = nullptr;
      }
      if (op.type == "wkv") scans.emplace(tensor(op.inputs, "k"), &op);
    }
  }

  const TracedOp* variable(std::string_view tensor_name) const {
    const auto at = maker.find(tensor_name);
    return at != maker.end() && at->second->kind == OpKind::kVariable ? at->second : nullptr;
  }

  /// Follows sums and factors from `tensor_name` to the end and keeps that as the gradient.
  void claim(const TracedOp* parameter, std::string_view tensor_name) {
    if (!parameter || tensor_name.empty() || found.count(parameter->name)) return;
    for (int steps = 0; steps < 8; ++steps) {
      const auto at = readers.find(tensor_name);
      if (at == readers.end()) {
        found.emplace(parameter->name, tensor_name);
        return;
      }
      const TracedOp& next = *at->second[0];
      const bool passes = next.type == "add_n" || next.type == "scalar_mul" ||
                          next.type == "reduce_sum" || next.type == "hierarchical_parallel_cast";
      if (at->second.size() != 1 || !passes) return;
      tensor_name = next.outputs[0].tensors[0];
    }
  }

  /// The only matrix among the parameters of the op's own module.
  const TracedOp* matrix_of(const TracedOp& op) const {
    const std::string_view name = op.name;
    const auto at = matrices.find(name.substr(0, name.rfind("-" + op.type + "-")));
    return at == matrices.end() ? nullptr : at->second;
  }

  void read(const TracedOp& op) {
    const auto in = [&](std::string_view key) { return tensor(op.inputs, key); };
    const auto out = [&](std::string_view key) { return tensor(op.outputs, key); };
    if (op.type == "reduce_sum_like") {
      claim(variable(in("like")), out("y"));
    } else if (op.type == "unsorted_segment_sum_like") {
      claim(variable(in("like")), out("out"));
    } else if (op.type == "broadcast_matmul_grad_b") {
      claim(matrix_of(op), out("out"));
    } else if (op.type == "layer_norm_param_grad") {
      const auto norm = norms.find(in("mean"));
      if (norm == norms.end()) return;
      claim(variable(tensor(norm->second->inputs, "gamma")), out("gamma_diff"));
      claim(variable(tensor(norm->second->inputs, "beta")), out("beta_diff"));
    } else if (op.type == "wkv_grad") {
      const auto scan = scans.find(in("k"));
      if (scan == scans.end()) return;
      claim(variable(tensor(scan->second->inputs, "w")), out("gw"));
      claim(variable(tensor(scan->second->inputs, "u")), out("gu"));
    }
  }
};

}  // namespace

std::map<std::string, std::string> gradients_in_tree(const Record& record) {
  const Trace trace(record);
  const std::vector<const Operator*> operators = record.operators();
  std::unordered_map<std::string, const Operator*> maker;
  for (const Operator* op : operators) {
    for (const Operand& out : op->outputs) maker.emplace(op->tensor_of(out), op);
  }
  std::unordered_set<std::string_view> variables;
  for (const TracedOp& op : record.ops) {
    if (op.kind == OpKind::kVariable) variables.insert(op.name);
  }
  std::map<std::string, std::string> found;
  for (const Operator* op : operators) {
    const std::string_view name = op->name;
    if (!name.ends_with(kOptimizer) || op->inputs.size() < 2) continue;
    const std::string_view variable = name.substr(0, name.size() - kOptimizer.size());
    if (!variables.count(variable)) continue;
    std::string tensor = op->inputs[1].tensor;
    for (int steps = 0; steps < 8 && !trace.maker.count(tensor); ++steps) {
      const auto at = maker.find(tensor);
      if (at == maker.end() || at->second->inputs.size() != 1) break;
      tensor = at->second->inputs[0].tensor;
    }
    if (trace.maker.count(tensor)) found.emplace(variable, tensor);
  }
  return found;
}

std::map<std::string, std::string> gradients_in_trace(const Record& record) {
  Trace trace(record);
  for (const TracedOp& op : record.ops) trace.read(op);
  return std::move(trace.found);
}

}  // namespace plait::io::oneflow
