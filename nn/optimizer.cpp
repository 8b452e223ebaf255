// Optimizers as graphs: gradients, their sums and scale, clipping, updates.
#include "nn/optimizer.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/text.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/reduce.h"
#include "ops/update.h"
#include "passes/differentiate.h"
#include "passes/gradient_path.h"

namespace plait::nn {
namespace {

constexpr std::string_view kKinds[] = {"lr",   "step", "micro", "scale",   "good",
                                       "grad", "m",    "v",     "momentum"};

/// What the updates of one step share.
struct Shared {
  const std::string& optimizer;  // its name
  Tensor lr, step;               // f32[]; i64[], which counts from 1
  Tensor apply;                  // bool[], or none: always
};

Tensor chosen(const Tensor& apply, const Tensor& next, const Tensor& old) {
  return apply ? where(apply, next, old) : next;
}

ir::State counter(const std::string& optimizer, std::string_view kind) {
  return {optimizer_state(optimizer, kind), {DType::i64, {}}, ir::Role::kCounter, init::zeros()};
}

ir::State rate_state(std::string name, double lr) {
  if (!(lr >= 0 && std::isfinite(lr))) fail("the learning rate must be finite and >= 0, is ", lr);
  return {std::move(name), {DType::f32, {}}, ir::Role::kSlot, init::make(init::Constant{lr})};
}

void check_only_one(const ir::Graph& graph, const std::string& step) {
  for (const ir::NextState& next : graph.nexts) {
    if (next.state != step) continue;
    fail("graph ", graph.name, " has two optimizers with one name: both would count in ", step,
         ". Give each further one a name of its own: {.name = \"generator\"}");
  }
}

Shared shared_states(Builder& b, double lr, const UpdateOptions& options) {
  const ir::State step_state = counter(options.name, "step");
  check_only_one(b.graph(), step_state.name);
  const Tensor rate = b.state(rate_state(optimizer_state(options.name, "lr"), lr));
  const Tensor done = b.state(step_state), step = done + 1;
  b.next(step_state.name, chosen(options.apply, step, done));
  return {options.name, rate, step, options.apply};
}

/// A tensor per parameter, shaped like it, in the dtype of sums.
ir::State slot(const std::string& optimizer, std::string_view kind, const Parameter& p) {
  const ir::Type& type = p.state().type;
  return {optimizer_state(optimizer, str(kind, ".", p.name())),
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
  const ir::State m = slot(shared.optimizer, "momentum", p);
  const Tensor w = p.in(b), old_m = b.state(m);
  const auto next = ops::sgd_update.all({w, g, shared.lr, old_m}, attrs);
  b.next(p.name(), chosen(shared.apply, next[0], w));
  b.next(m.name, chosen(shared.apply, next[1], old_m));
}

void adam_update(Builder& b, const ops::AdamUpdate& attrs, const Parameter& p, const Tensor& g,
                 const Shared& shared) {
  const ir::State m = slot(shared.optimizer, "m", p), v = slot(shared.optimizer, "v", p);
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

/// A parameter's place among the groups.
struct Place {
  const ParameterGroup* group = nullptr;
  std::size_t number = 0;  // from 1
};
using Places = std::map<const Parameter*, Place>;

/// UserError where a parameter is in two groups, or in one but not among `parameters`.
Places places_in(const std::vector<ParameterGroup>& groups,
                 const std::vector<Parameter*>& parameters) {
  Places places;
  for (const Parameter* p : parameters) places[p] = {};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const Parameter* p : groups[i].parameters) {
      const auto place = places.find(p);
      if (place == places.end()) {
        fail("group ", i + 1, " has ", p->name(), ", which is not among the parameters to train");
      }
      if (place->second.group) {
        fail(p->name(), " is in groups ", place->second.number, " and ", i + 1,
             ": a parameter has one");
      }
      place->second = {&groups[i], i + 1};
    }
  }
  return places;
}

bool is_frozen(const Place& place) { return place.group && place.group->frozen; }

/// The optimizer as it is for one parameter.
template <class Kind>
Kind settings_for(const Parameter& p, const Place& place, const Kind& own, Decay decay) {
  Kind out = own;
  if (place.group && place.group->weight_decay) {
    out.weight_decay = *place.group->weight_decay;
  } else if (decay == Decay::kMatrices && is_vector(p.state().type.shape)) {
    out.weight_decay = 0;
  }
  return out;
}

void check_name(const std::string& name) {
  const bool kind = std::find(std::begin(kKinds), std::end(kKinds), name) != std::end(kKinds);
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  if (!kind && std::all_of(name.begin(), name.end(), in_word)) return;
  fail("an optimizer cannot be named ", quoted(name), ": letters, digits and _, and none of ",
       join({std::begin(kKinds), std::end(kKinds)}, ", "));
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

ir::State scale_state(const std::string& optimizer, double first) {
  return {optimizer_state(optimizer, "scale"),
          {DType::f32, {}},
          ir::Role::kSlot,
          init::make(init::Constant{first})};
}

/// Counts the runs; whether this one is the last of `accumulate`, whose gradients are applied.
Tensor count_runs(Builder& b, const StepOptions& options) {
  const ir::State state = counter(options.name, "micro");
  const Tensor micro = b.state(state);
  const Tensor last = equal(micro, static_cast<double>(options.accumulate - 1));
  b.next(state.name, where(last, b.constant(0, DType::i64), micro + 1));
  return last;
}

/// What was summed so far plus `g`; the sum starts again after the last run.
Tensor summed(Builder& b, const std::string& optimizer, const Parameter& p, const Tensor& g,
              const Tensor& last) {
  const ir::State sum = slot(optimizer, "grad", p);
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
void update_scale(Builder& b, const Tensor& scale, const StepOptions& options, const Tensor& finite,
                  const Tensor& last) {
  const ir::State good_state = counter(options.name, "good");
  const Tensor zero = b.constant(0, DType::i64);
  const Tensor good = b.state(good_state), better = good + 1;
  const Tensor enough = better >= static_cast<double>(options.loss_scale_every);
  const Tensor twice = scale * 2.0;
  const Tensor grown = where(ops::logical_and(enough, ops::is_finite(twice)), twice, scale);
  const Tensor next_scale = where(finite, grown, scale * 0.5);
  const Tensor next_good = where(finite, where(enough, zero, better), zero);
  b.next(optimizer_state(options.name, "scale"), chosen(last, next_scale, scale));
  b.next(good_state.name, chosen(last, next_good, good));
}

/// f64 where one of them is, otherwise f32.
DType widest(const std::vector<Tensor>& tensors) {
  DType wide = DType::f32;
  for (const Tensor& t : tensors) wide = t && t.dtype() == DType::f64 ? DType::f64 : wide;
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

/// `a, b, c, d, e, ... (12 parameters)`
std::string names_text(const std::vector<Parameter*>& parameters) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> names;
  for (const Parameter* p : parameters) {
    if (names.size() < kMost) names.push_back(p->name());
  }
  const std::size_t count = parameters.size();
  return join(names, ", ") + (count > kMost ? str(", ... (", count, " parameters)") : "");
}

struct Found {
  std::vector<Tensor> grads;        // one per parameter, none where no gradient reaches
  std::vector<Parameter*> without;  // those
  std::string why;                  // no gradient of the loss reaches them, in words
};

Found find_gradients(const Tensor& loss, const std::vector<Parameter*>& parameters,
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
  check_loss(loss);
  const Tensor cotangent = scale ? narrow(scale, loss.dtype()) : b.constant(1, loss.dtype());
  GradientFlow flow = gradient_flow(loss, cotangent, wrt);
  Found found{std::move(flow.grads), {}, {}};
  std::vector<ir::ValueId> missed;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (found.grads[i]) continue;
    found.without.push_back(parameters[i]);
    missed.push_back(wrt[i].id());
  }
  if (missed.empty()) return found;
  const std::string end = where_gradient_ends(b.graph(), loss.id(), missed, flow.received);
  found.why =
      str("graph ", b.graph().name, ": no gradient of the loss reaches ", names_text(found.without),
          end.empty() ? ": it is not computed from them" : ": the path ends at " + end);
  return found;
}

/// UserError when no gradient reaches any of them: such a loss trains nothing.
Found find_some_gradients(const Tensor& loss, const std::vector<Parameter*>& parameters,
                          const Tensor& scale) {
  Found found = find_gradients(loss, parameters, scale);
  if (!parameters.empty() && found.without.size() == parameters.size()) {
    fail(found.why,
         ". Nothing would be trained: compute the loss from them by operations on "
         "floats that have a gradient");
  }
  return found;
}

void tell(const StepOptions& options, const std::string& text) {
  if (options.note) return options.note(text);
  std::fprintf(stderr, "plait: %s\n", text.c_str());
}

/// The gradients of those that are to be trained and can be.
Step gradients_for(const Tensor& loss, const std::vector<Parameter*>& parameters,
                   const Tensor& scale, const StepOptions& options) {
  const Places places = places_in(options.groups, parameters);
  std::vector<Parameter*> wanted;
  for (Parameter* p : parameters) {
    if (!is_frozen(places.at(p))) wanted.push_back(p);
  }
  if (parameters.empty()) {
    fail("graph ", loss.builder().graph().name,
         ": no parameters to train were given. Give minimize those of a module: net.parameters()");
  }
  if (wanted.empty()) {
    fail("all ", parameters.size(), " parameters are frozen: nothing is left to train");
  }
  const Found found = find_some_gradients(loss, wanted, scale);
  if (!found.without.empty()) tell(options, found.why + "; they are not trained");
  Step step{};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!found.grads[i]) continue;
    step.parameters.push_back(wanted[i]);
    step.grads.push_back(found.grads[i]);
  }
  return step;
}

/// The groups without the parameters that have no gradient, which places_in would miss.
std::vector<ParameterGroup> groups_of(const StepOptions& options, const Step& step) {
  std::vector<ParameterGroup> groups = options.groups;
  for (ParameterGroup& group : groups) {
    std::erase_if(group.parameters, [&](const Parameter* p) {
      return std::find(step.parameters.begin(), step.parameters.end(), p) == step.parameters.end();
    });
  }
  return groups;
}

}  // namespace

std::string optimizer_state(std::string_view name, std::string_view kind) {
  return name.empty() ? str("optim.", kind) : str("optim.", name, ".", kind);
}

std::string group_rate_state(std::string_view name, std::size_t number) {
  return str(optimizer_state(name, "lr"), ".", number);
}

std::vector<Tensor> gradients_of(const Tensor& loss, const std::vector<Parameter*>& parameters,
                                 const Tensor& scale) {
  return find_some_gradients(loss, parameters, scale).grads;
}

Clipped clip_by_global_norm(const std::vector<Tensor>& grads, double max_norm) {
  if (!(max_norm > 0)) fail("gradients are clipped to a norm above 0, not ", max_norm);
  const auto first = std::find_if(grads.begin(), grads.end(), [](const Tensor& g) { return !!g; });
  if (first == grads.end()) return {grads, {}};
  const Scope scope(first->builder(), "optim.clip");
  const DType wide = widest(grads);
  Tensor squares;
  for (const Tensor& g : grads) {
    if (!g) continue;
    const Tensor square = narrow(widen(g).square().sum(), wide);
    squares = squares ? squares + square : square;
  }
  Clipped clipped{{}, squares.sqrt()};
  const Tensor factor = ops::minimum(max_norm / (clipped.norm + 1e-6), 1);
  for (const Tensor& g : grads) {
    const Tensor wide_g = g ? widen(g) : Tensor();
    clipped.grads.push_back(g ? narrow(wide_g * narrow(factor, wide_g.dtype()), g.dtype()) : g);
  }
  return clipped;
}

void apply_gradients(Builder& b, const Optimizer& optimizer,
                     const std::vector<Parameter*>& parameters, const std::vector<Tensor>& grads,
                     const UpdateOptions& options) {
  check_pairs(parameters, grads);
  check_name(options.name);
  const Places places = places_in(options.groups, parameters);
  const Scope scope(b, "optim");
  std::visit(
      [&](const auto& o) {
        const Shared shared = shared_states(b, o.lr, options);
        for (std::size_t i = 0; i < grads.size(); ++i) {
          const Place& place = places.at(parameters[i]);
          if (!grads[i] || is_frozen(place)) continue;
          Shared own = shared;
          if (place.group && place.group->lr) {
            own.lr =
                b.state(rate_state(group_rate_state(options.name, place.number), *place.group->lr));
          }
          update(b, settings_for(*parameters[i], place, o, options.decay), *parameters[i], grads[i],
                 own);
        }
      },
      optimizer);
}

Step minimize(const Tensor& loss, const std::vector<Parameter*>& parameters,
              const Optimizer& optimizer, const StepOptions& options) {
  check_options(options);
  Builder& b = loss.builder();
  const Tensor scale =
      options.loss_scale > 0 ? b.state(scale_state(options.name, options.loss_scale)) : Tensor();
  Step step = gradients_for(loss, parameters, scale, options);
  std::vector<Tensor> grads = step.grads;
  Tensor last, finite;
  if (options.accumulate > 1) {
    const Scope scope(b, "optim.accumulate");
    last = count_runs(b, options);
    for (std::size_t i = 0; i < grads.size(); ++i) {
      grads[i] = summed(b, options.name, *step.parameters[i], grads[i], last);
    }
  }
  if ((scale || options.guard) && !grads.empty()) {
    const Scope scope(b, "optim.guard");
    finite = all_finite(grads);
    const Tensor overflow = ops::logical_not(finite);
    step.skipped = last ? ops::logical_and(last, overflow) : overflow;
    if (scale) update_scale(b, scale, options, finite, last);
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
  apply_gradients(b, optimizer, step.parameters, grads,
                  {options.name, groups_of(options, step), options.decay, apply});
  return step;
}

}  // namespace plait::nn
