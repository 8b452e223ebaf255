// Optimizers as graphs: gradients, clipping, updates, accumulation.
#include "nn/optimizer.h"

#include <cmath>

#include "ops/arithmetic.h"
#include "ops/update.h"
#include "passes/differentiate.h"

namespace plait::nn {
namespace {

constexpr std::string_view kGradsState = "optim.grads";  // i64[]: how many were accumulated

/// What the updates of one step share.
struct Shared {
  Tensor lr, step;  // f32[]; i64[], which counts from 1
};

ir::State counter(std::string_view name) {
  return {std::string(name), {DType::i64, {}}, ir::Role::kCounter, init::zeros()};
}

Shared shared_states(Builder& b, double lr) {
  if (!(lr >= 0 && std::isfinite(lr))) fail("the learning rate must be finite and >= 0, is ", lr);
  const Tensor rate = b.state({std::string(kLearningRateState),
                               {DType::f32, {}},
                               ir::Role::kSlot,
                               init::make(init::Constant{lr})});
  const Tensor step = b.state(counter(kStepState)) + 1;
  b.next(std::string(kStepState), step);
  return {rate, step};
}

/// A tensor per parameter, shaped like it, in the dtype of sums.
ir::State slot(std::string_view kind, const Parameter& p) {
  const ir::Type& type = p.state().type;
  return {str("optim.", kind, ".", p.name()),
          {compute_dtype(type.dtype), type.shape},
          ir::Role::kSlot,
          init::zeros()};
}

void update(Builder& b, const Sgd& o, const Parameter& p, const Tensor& g, const Shared& shared) {
  const ops::SgdUpdate attrs{o.momentum, o.dampening, o.nesterov, o.weight_decay};
  if (o.momentum == 0) {
    b.next(p.name(), ops::sgd_update(p.in(b), g, shared.lr, attrs));
    return;
  }
  const ir::State m = slot("momentum", p);
  const auto next = ops::sgd_update.all({p.in(b), g, shared.lr, b.state(m)}, attrs);
  b.next(p.name(), next[0]);
  b.next(m.name, next[1]);
}

void adam_update(Builder& b, const ops::AdamUpdate& attrs, const Parameter& p, const Tensor& g,
                 const Shared& shared) {
  const ir::State m = slot("m", p), v = slot("v", p);
  const auto next =
      ops::adam_update.all({p.in(b), g, shared.lr, b.state(m), b.state(v), shared.step}, attrs);
  b.next(p.name(), next[0]);
  b.next(m.name, next[1]);
  b.next(v.name, next[2]);
}

void update(Builder& b, const Adam& o, const Parameter& p, const Tensor& g, const Shared& shared) {
  adam_update(b, {o.beta1, o.beta2, o.eps, o.weight_decay, false}, p, g, shared);
}

void update(Builder& b, const AdamW& o, const Parameter& p, const Tensor& g, const Shared& shared) {
  adam_update(b, {o.beta1, o.beta2, o.eps, o.weight_decay, true}, p, g, shared);
}

void check_pairs(const std::vector<Parameter*>& parameters, const std::vector<Tensor>& grads) {
  if (parameters.size() != grads.size()) {
    fail(parameters.size(), " parameters were given ", grads.size(), " gradients");
  }
}

}  // namespace

std::vector<Tensor> gradients_of(const Tensor& loss, const std::vector<Parameter*>& parameters) {
  Builder& b = loss.builder();
  std::vector<Tensor> wrt;
  std::vector<std::string> unread;
  for (const Parameter* p : parameters) {
    if (b.graph().find_state(p->name())) {
      wrt.push_back(p->in(b));
    } else {
      unread.push_back(p->name());
    }
  }
  if (!unread.empty()) {
    fail("graph ", b.graph().name, " does not read ", join(unread, ", "),
         ", so its loss has no gradient there. Leave them out of the parameters to train");
  }
  return grad(loss, wrt);
}

std::vector<Tensor> clip_by_global_norm(const std::vector<Tensor>& grads, double max_norm) {
  if (!(max_norm > 0)) fail("gradients are clipped to a norm above 0, not ", max_norm);
  if (grads.empty()) return {};
  const Scope scope(grads[0].builder(), "optim.clip");
  DType wide = DType::f32;
  for (const Tensor& g : grads) wide = g.dtype() == DType::f64 ? DType::f64 : wide;
  Tensor squares;
  for (const Tensor& g : grads) {
    const Tensor square = narrow(widen(g).square().sum(), wide);
    squares = squares ? squares + square : square;
  }
  const Tensor factor = ops::minimum(max_norm / (squares.sqrt() + 1e-6), 1);
  std::vector<Tensor> clipped;
  for (const Tensor& g : grads) {
    const Tensor wide_g = widen(g);
    clipped.push_back(narrow(wide_g * narrow(factor, wide_g.dtype()), g.dtype()));
  }
  return clipped;
}

void apply_gradients(Builder& b, const Optimizer& optimizer,
                     const std::vector<Parameter*>& parameters, const std::vector<Tensor>& grads) {
  check_pairs(parameters, grads);
  const Scope scope(b, "optim");
  std::visit(
      [&](const auto& o) {
        const Shared shared = shared_states(b, o.lr);
        for (std::size_t i = 0; i < grads.size(); ++i) {
          update(b, o, *parameters[i], grads[i], shared);
        }
      },
      optimizer);
}

std::vector<Tensor> minimize(const Tensor& loss, const std::vector<Parameter*>& parameters,
                             const Optimizer& optimizer, double clip) {
  const std::vector<Tensor> grads = gradients_of(loss, parameters);
  apply_gradients(loss.builder(), optimizer, parameters,
                  clip > 0 ? clip_by_global_norm(grads, clip) : grads);
  return grads;
}

void accumulate_gradients(Builder& b, const std::vector<Parameter*>& parameters,
                          const std::vector<Tensor>& grads) {
  check_pairs(parameters, grads);
  const Scope scope(b, "optim.accumulate");
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const ir::State sum = slot("grad", *parameters[i]);
    const Tensor so_far = b.state(sum);
    b.next(sum.name, so_far + widen(grads[i]));
  }
  b.next(std::string(kGradsState), b.state(counter(kGradsState)) + 1);
}

void apply_accumulated(Builder& b, const Optimizer& optimizer,
                       const std::vector<Parameter*>& parameters, double clip) {
  std::vector<Tensor> means;
  {
    const Scope scope(b, "optim.accumulate");
    const Tensor count = b.state(counter(kGradsState));
    const Tensor divisor = ops::maximum(count, 1);  // after no gradient: zeros
    for (const Parameter* p : parameters) {
      const ir::State sum = slot("grad", *p);
      const Tensor total = b.state(sum);
      means.push_back(total / divisor.cast(sum.type.dtype));
      b.next(sum.name, b.full(0, sum.type.dtype, sum.type.shape));
    }
    b.next(std::string(kGradsState), b.constant(0, DType::i64));
  }
  apply_gradients(b, optimizer, parameters, clip > 0 ? clip_by_global_norm(means, clip) : means);
}

}  // namespace plait::nn
