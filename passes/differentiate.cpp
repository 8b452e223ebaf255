// Reverse-mode differentiation by the rules in the op table.
#include "passes/differentiate.h"

#include <unordered_map>

#include "ops/table.h"
#include "passes/cotangent.h"

namespace plait {
namespace {

using ir::ValueId;

GradientFlow sweep_back(const std::vector<Tensor>& ys, const std::vector<Tensor>& cotangents,
                        const std::vector<Tensor>& wrt, const DifferentiateOptions& options);

/// Which values depend on `wrt` through floats.
std::vector<bool> dependents(const ir::Graph& graph, const std::vector<Tensor>& wrt) {
  std::vector<bool> depends(graph.values.size(), false);
  for (const Tensor& t : wrt) depends[static_cast<std::size_t>(t.id())] = true;
  for (const ir::Node& node : graph.nodes) {
    bool reached = false;
    for (ValueId id : node.inputs)
      reached |= id != ir::kNone && depends[static_cast<std::size_t>(id)];
    for (ValueId id : node.outputs) {
      if (reached && is_float(graph.type(id).dtype)) depends[static_cast<std::size_t>(id)] = true;
    }
  }
  return depends;
}

const GradRule& pick_rule(const Op& op, const DifferentiateOptions& options) {
  const auto it = options.rules.find(op.name);
  if (it == options.rules.end()) return op.grads[0];
  std::vector<std::string> known;
  for (const GradRule& rule : op.grads) {
    if (rule.saves == it->second) return rule;
    known.push_back("'" + std::string(rule.saves) + "'");
  }
  fail("[", op.name, "] has no gradient that saves '", it->second, "'; there are ",
       join(known, ", "));
}

class Differentiator {
 public:
  Differentiator(Builder& b, const std::vector<Tensor>& wrt, const DifferentiateOptions& options)
      : b_(b),
        options_(options),
        depends_(dependents(b.graph(), wrt)),
        last_(static_cast<ir::NodeId>(b.graph().nodes.size()) - 1) {}

  void seed(const Tensor& y, const Tensor& cotangent) {
    if (!(y.type() == cotangent.type())) {
      fail("the cotangent of ", y.type(), " is ", cotangent.type());
    }
    cotangents_[y.id()].add(cotangent);
  }

  void sweep() {
    const std::string path = b_.path();
    for (ir::NodeId id = last_; id >= 0; --id) visit(id);
    b_.set_path(path);
    b_.set_source(std::nullopt);
  }

  /// None where no gradient reached.
  Tensor result(const Tensor& x) { return total(x.id()); }

  std::vector<bool> received() const {
    std::vector<bool> out(depends_.size(), false);
    for (const auto& [id, g] : cotangents_) out[static_cast<std::size_t>(id)] = true;
    return out;
  }

 private:
  bool wanted(ValueId id) const {
    return id != ir::kNone && depends_[static_cast<std::size_t>(id)] &&
           is_float(b_.graph().type(id).dtype);
  }

  Tensor total(ValueId id) {
    const auto it = cotangents_.find(id);
    return it == cotangents_.end() ? Tensor() : it->second.total();
  }

  void visit(ir::NodeId id) {
    // A copy: rules append nodes, which moves the graph's storage.
    const ir::Node node = b_.graph().node(id);
    bool flows = false, needed = false;
    for (ValueId v : node.outputs) flows |= cotangents_.count(v) > 0;
    for (ValueId v : node.inputs) needed |= wanted(v);
    if (!flows || !needed) return;
    if (node.opaque) fail("opaque node ", describe(b_.graph(), node), " has no gradient");
    if (op_named(node.op).traits & kNoFlow) return;
    std::vector<ir::Type> input_types;
    NodeView view{op_named(node.op), {}, {}, node.attrs, describe(b_.graph(), node)};
    for (ValueId v : node.inputs) {
      input_types.push_back(v == ir::kNone ? ir::Type() : b_.graph().type(v));
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      view.inputs.push_back(node.inputs[i] == ir::kNone ? nullptr : &input_types[i]);
    }
    for (ValueId v : node.outputs) view.outputs.push_back(b_.graph().type(v));
    b_.set_path(node.path);
    b_.set_source(node.source);
    const Grads grads = grads_of(node, view);
    b_.set_source(node.source);  // a decomposition's own sweep has set it back
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (i >= grads.size() || !grads[i] || !wanted(node.inputs[i])) continue;
      Tensor g = grads[i];
      if (view.op.traits & kElementwise) g = sum_to(g, input_types[i].shape);
      g = narrow(g, input_types[i].dtype);
      check(g.shape() == input_types[i].shape, "gradient of ", view.op.name, " for operand ", i,
            " is ", g.type(), ", the operand ", input_types[i]);
      cotangents_[node.inputs[i]].add(g);
    }
  }

  Grads grads_of(const ir::Node& node, const NodeView& view) {
    std::vector<Tensor> inputs, outputs, dys;
    std::vector<bool> wants;
    for (ValueId v : node.inputs) {
      inputs.push_back(v == ir::kNone ? Tensor() : b_.value(v));
      wants.push_back(wanted(v));
    }
    for (ValueId v : node.outputs) {
      outputs.push_back(b_.value(v));
      dys.push_back(total(v));
    }
    const Op& op = view.op;
    if (!op.grads.empty()) {
      const bool wide =
          (op.decompose && !moves_only(op) && !(op.traits & kOpGrad)) || (op.traits & kWideGrad);
      GradCtx ctx(b_, view, inputs, outputs, dys, wants, wide);
      return pick_rule(op, options_).grads(ctx);
    }
    if (!op.decompose) view.fail("has no gradient");
    return through_decomposition(view, inputs, dys, wants);
  }

  /// A composite without a rule of its own: differentiate what it is made of.
  Grads through_decomposition(const NodeView& view, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& dys, const std::vector<bool>& wants) {
    DecomposeCtx ctx{b_, view, {}};
    std::vector<Tensor> wrt, ys, cotangents;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      // A fresh value per operand, so that differentiation stops at it.
      ctx.inputs.push_back(inputs[i] ? widen(b_.add("copy", {inputs[i]})[0]) : Tensor());
      if (wants[i]) wrt.push_back(ctx.inputs[i]);
    }
    const std::vector<Tensor> results = view.op.decompose(ctx);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!dys[i]) continue;
      ys.push_back(results[i]);
      cotangents.push_back(narrow(dys[i], results[i].dtype()));
    }
    const std::vector<Tensor> found = sweep_back(ys, cotangents, wrt, options_).grads;
    Grads grads(inputs.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (wants[i]) grads[i] = found[next++];
    }
    return grads;
  }

  Builder& b_;
  const DifferentiateOptions& options_;
  std::vector<bool> depends_;
  ir::NodeId last_;
  std::unordered_map<ValueId, Cotangent> cotangents_;
};

GradientFlow sweep_back(const std::vector<Tensor>& ys, const std::vector<Tensor>& cotangents,
                        const std::vector<Tensor>& wrt, const DifferentiateOptions& options) {
  check(!ys.empty() && ys.size() == cotangents.size(), "gradients of ", ys.size(), " values with ",
        cotangents.size(), " cotangents");
  for (const Tensor& x : wrt) {
    if (!is_float(x.dtype())) fail("cannot differentiate with respect to ", x.type());
  }
  Differentiator d(ys[0].builder(), wrt, options);
  for (std::size_t i = 0; i < ys.size(); ++i) d.seed(ys[i], cotangents[i]);
  d.sweep();
  GradientFlow flow{{}, d.received()};
  for (const Tensor& x : wrt) flow.grads.push_back(d.result(x));
  return flow;
}

}  // namespace

std::vector<Tensor> gradients(const std::vector<Tensor>& ys, const std::vector<Tensor>& cotangents,
                              const std::vector<Tensor>& wrt, const DifferentiateOptions& options) {
  std::vector<Tensor> grads = sweep_back(ys, cotangents, wrt, options).grads;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i]) grads[i] = wrt[i].builder().full(0, wrt[i].dtype(), wrt[i].shape());
  }
  return grads;
}

GradientFlow gradient_flow(const Tensor& y, const Tensor& cotangent, const std::vector<Tensor>& wrt,
                           const DifferentiateOptions& options) {
  return sweep_back({y}, {cotangent}, wrt, options);
}

void check_loss(const Tensor& loss) {
  if (loss.rank() == 0 && is_float(loss.dtype())) return;
  fail("only a float scalar has a gradient; the loss is ", loss.type(), ". Take its mean or sum?");
}

std::vector<Tensor> grad(const Tensor& loss, const std::vector<Tensor>& wrt,
                         const DifferentiateOptions& options) {
  check_loss(loss);
  return gradients({loss}, {loss.builder().constant(1, loss.dtype())}, wrt, options);
}

ir::Graph differentiate(const ir::Graph& graph) {
  if (graph.fetches.empty()) {
    fail("graph ", graph.name, " returns nothing, so there is no loss to differentiate");
  }
  Builder b(graph);
  std::vector<Tensor> wrt;
  std::vector<std::string> names;
  for (const ir::StateUse& use : graph.states) {
    if (use.state.role != ir::Role::kParam || !is_float(use.state.type.dtype)) continue;
    wrt.push_back(b.value(use.value));
    names.push_back("d_" + use.state.name);
  }
  const std::vector<Tensor> grads = grad(b.value(graph.fetches[0].value), wrt);
  for (std::size_t i = 0; i < grads.size(); ++i) b.fetch(names[i], grads[i]);
  return b.take();
}

}  // namespace plait
