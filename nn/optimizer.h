// Optimizers as graphs: an update is nodes that read parameters, gradients and moments and name
// their next values. The learning rate and the step are states, so that a schedule can set them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "nn/groups.h"

namespace plait::nn {

struct Sgd {
  double lr = 0.01;
  double momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
struct Adam {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0;  // added to the gradient
};
struct AdamW {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0.01;  // taken from the weight
};
using Optimizer = std::variant<Sgd, Adam, AdamW>;

/// Whose updates, and which of them are not as the optimizer says.
struct UpdateOptions {
  std::string name = {};                    // of an optimizer that is not the package's only one
  std::vector<ParameterGroup> groups = {};  // of parameters; all others are as the optimizer says
  Decay decay = Decay::kAll;                // what the optimizer's weight decay is for
  Tensor apply = {};                        // bool[]; where it is false, every value stays as it is
};

/// What a training step does besides: all of it in the one graph of the step.
struct StepOptions {
  double clip = 0;                       // largest norm of all gradients together; 0: any
  std::int64_t accumulate = 1;           // runs whose gradients are averaged into one update
  double loss_scale = 0;                 // first factor of the loss; 0: none, and no guard by it
  std::int64_t loss_scale_every = 2000;  // updates without overflow after which it doubles
  bool guard = false;                    // leaves out an update whose gradients are not all finite
  std::string name = {};                 // as of UpdateOptions
  std::vector<ParameterGroup> groups = {};
  Decay decay = Decay::kAll;
  /// Is told which parameters get no gradient, and why. Left empty, it goes to stderr.
  std::function<void(const std::string&)> note = {};
};

/// The states of an optimizer begin with `optim.`, those of one with a name with `optim.NAME.`:
/// `lr` f32[] and `step` i64[], updates done so far; `lr.N` f32[] of the N-th group, from 1, where
/// it has a rate of its own; moments `m.PARAMETER`, `v.PARAMETER`, `momentum.PARAMETER`.
inline constexpr std::string_view kLearningRateState = "optim.lr";
inline constexpr std::string_view kStepState = "optim.step";
/// Where gradients are accumulated: `optim.micro` i64[], runs since the last update, beside sums
/// `optim.grad.NAME`. Where the loss is scaled: `optim.scale` f32[] and `optim.good` i64[], updates
/// since it last changed.
inline constexpr std::string_view kMicroState = "optim.micro";
inline constexpr std::string_view kScaleState = "optim.scale";
inline constexpr std::string_view kGoodState = "optim.good";
/// `optim.lr`, or `optim.NAME.lr` of the optimizer NAME.
std::string optimizer_state(std::string_view name, std::string_view kind);
/// Of the group with this number, which counts from 1.
std::string group_rate_state(std::string_view name, std::size_t number);

/// Gradients of `loss` for the parameters that its graph reads, in the order of `parameters`; of
/// `loss * scale` where that is given; none where no gradient reaches a parameter. UserError naming
/// the parameters that it does not read, and where the path ends when no gradient reaches any.
std::vector<Tensor> gradients_of(const Tensor& loss, const std::vector<Parameter*>& parameters,
                                 const Tensor& scale = {});

struct Clipped {
  std::vector<Tensor> grads;
  Tensor norm;  // of all of them together before, in f32; none without gradients
};
/// min(1, max_norm / (norm + 1e-6)) times every gradient that there is.
Clipped clip_by_global_norm(const std::vector<Tensor>& grads, double max_norm);

/// Names the next value of the optimizer's own states and of every parameter that has a gradient
/// and is not frozen.
void apply_gradients(Builder& b, const Optimizer& optimizer,
                     const std::vector<Parameter*>& parameters, const std::vector<Tensor>& grads,
                     const UpdateOptions& options = {});

/// What the step tells besides the loss.
struct Step {
  std::vector<Tensor> grads;  // of this run, times the scale if there is one
  Tensor grad_norm;           // where gradients are clipped: before that, of what an update takes
  Tensor skipped;             // bool[], where there is a guard: this run's update was left out
  std::vector<Parameter*> parameters;  // those of `grads`: neither frozen nor without gradient
};
/// The whole step: gradients, their sum over `accumulate` runs, clipping, the update in the last of
/// them. With a scale as PyTorch's GradScaler: an overflow leaves out the update and halves it.
/// Parameters that are frozen, or that no gradient reaches, keep their values.
Step minimize(const Tensor& loss, const std::vector<Parameter*>& parameters,
              const Optimizer& optimizer, const StepOptions& options = {});

}  // namespace plait::nn
