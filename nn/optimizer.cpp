// Optimizers as graphs: gradients, their sums and scale, clipping, updates.
#include "nn/optimizer.h"

#include <cmath>

#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/reduce.h"
#include "ops/update.h"
#include "passes/differentiate.h"

namespace plait::nn {
namespace {

/// What the updates of one step share.
struct Shared {
  Tensor lr, step;  // f32[]; i64[], which counts from 1
  Tensor apply;     // bool[], or none: always
};

Tensor chosen(const Tensor& apply, const Tensor& next, const Tensor& old) {
  return apply ? where(apply, next, old) : next;
}

ir::State counter(std::string_view name) {
  return {std::string(name), {DType::i64, {}}, ir::Role::kCounter, init::zeros()};
}

Shared shared_states(Builder& b, double lr, const Tensor& apply) {
  if (!(lr >= 0 && std::isfinite(lr))) fail("the learning rate must be finite and >= 0, is ", lr);
  const Tensor rate = b.state({std::string(kLearningRateState),
                               {DType::f32, {}},
                               ir::Role::kSlot,
                               init::make(init::Constant{lr})});
  const Tensor done = b.state(counter(kStepState)), step = done + 1;
  b.next(std::string(kStepState), chosen(apply, step, done));
  return {rate, step, apply};
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
    const Tensor w = p.in(b);
    b.next(p.name(), chosen(shared.apply, ops::sgd_update(w, g, shared.lr, attrs), w));
    return;
  }
  const ir::State m = slot("momentum", p);
  const Tensor w = p.in(b), old_m = b.state(m);
  const auto next = ops::sgd_update.all({w, g, shared.lr, old_m}, attrs);
  b.next(p.name(), chosen(shared.apply, next[0], w));
  b.next(m.name, chosen(shared.apply, next[1], old_m));
}

void adam_update(Builder& b, const ops::AdamUpdate& attrs, const Parameter& p, const Tensor& g,
                 const Shared& shared) {
  const ir::State m = slot("m", p), v = slot("v", p);
  const Tensor w = p.in(b), old_m = b.state(m), old_v = b.state(v);
  const auto next = ops::adam_update.all({w, g, shared.lr, old_m, old_v, shared.step}, attrs);
  b.next(p.name(), chosen(shared.apply, next[0], w));
  b.next(m.name, chosen(shared.apply, next[1], old_m));
  b.next(v.name, chosen(shared.apply, next[2], old_v));
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

void check_options(const StepOptions& o) {
  if (!(o.clip >= 0)) fail("gradients are clipped to a norm above 0, not ", o.clip);
  if (o.accumulate < 1) fail("gradients of at least 1 run make an update, not of ", o.accumulate);
  if (!(o.loss_scale >= 0 && std::isfinite(o.loss_scale))) {
    fail("the scale of the loss must be finite and >= 0, is ", o.loss_scale);
  }
  if (o.loss_scale_every < 1)
    fail("the scale grows after at least 1 update, not ", o.loss_scale_every);
}

ir::State scale_state(double first) {
  return {std::string(kScaleState),
          {DType::f32, {}},
          ir::Role::kSlot,
          init::make(init::Constant{first})};
}

/// Counts the runs; whether this one is the last of `accumulate`, whose gradients are applied.
Tensor count_runs(Builder& b, std::int64_t accumulate) {
  const Tensor micro = b.state(counter(kMicroState));
  const Tensor last = equal(micro, static_cast<double>(accumulate - 1));
  b.next(std::string(kMicroState), where(last, b.constant(0, DType::i64), micro + 1));
  return last;
}

/// What was summed so far plus `g`; the sum starts again after the last run.
Tensor summed(Builder& b, const Parameter& p, const Tensor& g, const Tensor& last) {
  const ir::State sum = slot("grad", p);
  const Tensor total = b.state(sum) + widen(g);
  b.next(sum.name, where(last, b.constant(0, sum.type.dtype), total));
  return total;
}

Tensor all_finite(const std::vector<Tensor>& grads) {
  Tensor finite;
  for (const Tensor& g : grads) {
    const Tensor here = ops::all(ops::is_finite(g));
    finite = finite ? ops::logical_and(finite, here) : here;
  }
  return finite;
}

/// As PyTorch's GradScaler: half of it after an overflow, twice after so many updates without one,
/// unless that overflows itself.
void update_scale(Builder& b, const Tensor& scale, std::int64_t every, const Tensor& finite,
                  const Tensor& last) {
  const Tensor zero = b.constant(0, DType::i64);
  const Tensor good = b.state(counter(kGoodState)), better = good + 1;
  const Tensor enough = better >= static_cast<double>(every);
  const Tensor twice = scale * 2.0;
  const Tensor grown = where(ops::logical_and(enough, ops::is_finite(twice)), twice, scale);
  const Tensor next_scale = where(finite, grown, scale * 0.5);
  const Tensor next_good = where(finite, where(enough, zero, better), zero);
  b.next(std::string(kScaleState), chosen(last, next_scale, scale));
  b.next(std::string(kGoodState), chosen(last, next_good, good));
}

/// f64 where one of them is, otherwise f32.
DType widest(const std::vector<Tensor>& tensors) {
  DType wide = DType::f32;
  for (const Tensor& t : tensors) wide = t.dtype() == DType::f64 ? DType::f64 : wide;
  return wide;
}

/// The mean over runs, without the scale.
std::vector<Tensor> means(const std::vector<Tensor>& sums, std::int64_t runs, const Tensor& scale) {
  if (runs == 1 && !scale) return sums;
  const auto count = static_cast<double>(runs);
  Tensor inverse;
  if (scale) inverse = 1.0 / (narrow(scale, widest(sums)) * count);
  std::vector<Tensor> out;
  for (const Tensor& sum : sums) {
    const Tensor wide = widen(sum);
    out.push_back(scale ? wide * narrow(inverse, wide.dtype()) : wide / count);
  }
  return out;
}

}  // namespace

std::vector<Tensor> gradients_of(const Tensor& loss, const std::vector<Parameter*>& parameters,
                                 const Tensor& scale) {
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
  return scale ? gradients({loss}, {narrow(scale, loss.dtype())}, wrt) : grad(loss, wrt);
}

Clipped clip_by_global_norm(const std::vector<Tensor>& grads, double max_norm) {
  if (!(max_norm > 0)) fail("gradients are clipped to a norm above 0, not ", max_norm);
  if (grads.empty()) return {};
  const Scope scope(grads[0].builder(), "optim.clip");
  const DType wide = widest(grads);
  Tensor squares;
  for (const Tensor& g : grads) {
    const Tensor square = narrow(widen(g).square().sum(), wide);
    squares = squares ? squares + square : square;
  }
  Clipped clipped{{}, squares.sqrt()};
  const Tensor factor = ops::minimum(max_norm / (clipped.norm + 1e-6), 1);
  for (const Tensor& g : grads) {
    const Tensor wide_g = widen(g);
    clipped.grads.push_back(narrow(wide_g * narrow(factor, wide_g.dtype()), g.dtype()));
  }
  return clipped;
}

void apply_gradients(Builder& b, const Optimizer& optimizer,
                     const std::vector<Parameter*>& parameters, const std::vector<Tensor>& grads,
                     const Tensor& apply) {
  check_pairs(parameters, grads);
  const Scope scope(b, "optim");
  std::visit(
      [&](const auto& o) {
        const Shared shared = shared_states(b, o.lr, apply);
        for (std::size_t i = 0; i < grads.size(); ++i) {
          update(b, o, *parameters[i], grads[i], shared);
        }
      },
      optimizer);
}

Step minimize(const Tensor& loss, const std::vector<Parameter*>& parameters,
              const Optimizer& optimizer, const StepOptions& options) {
  check_options(options);
  Builder& b = loss.builder();
  const Tensor scale = options.loss_scale > 0 ? b.state(scale_state(options.loss_scale)) : Tensor();
  Step step{gradients_of(loss, parameters, scale), {}, {}};
  std::vector<Tensor> grads = step.grads;
  Tensor last, finite;
  if (options.accumulate > 1) {
    const Scope scope(b, "optim.accumulate");
    last = count_runs(b, options.accumulate);
    for (std::size_t i = 0; i < grads.size(); ++i) {
      grads[i] = summed(b, *parameters[i], grads[i], last);
    }
  }
  if ((scale || options.guard) && !grads.empty()) {
    const Scope scope(b, "optim.guard");
    finite = all_finite(grads);
    const Tensor overflow = ops::logical_not(finite);
    step.skipped = last ? ops::logical_and(last, overflow) : overflow;
    if (scale) update_scale(b, scale, options.loss_scale_every, finite, last);
  }
  {
    const Scope scope(b, "optim.mean");
    grads = means(grads, options.accumulate, scale);
  }
  if (options.clip > 0) {
    Clipped clipped = clip_by_global_norm(grads, options.clip);
    grads = std::move(clipped.grads);
    step.grad_norm = clipped.norm;
  }
  const Tensor apply = !finite ? last : last ? ops::logical_and(last, finite) : finite;
  apply_gradients(b, optimizer, parameters, grads, apply);
  return step;
}

}  // namespace plait::nn
