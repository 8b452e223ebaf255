// Optimizers as graphs: an update is nodes that read parameters, gradients and moments and name
// their next values. The learning rate and the step are states, so that a schedule can set them.
#pragma once

#include <variant>
#include <vector>

#include "nn/module.h"

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

/// The states every optimizer shares: `optim.lr` f32[] and `optim.step` i64[], steps done so far.
inline constexpr std::string_view kLearningRateState = "optim.lr";
inline constexpr std::string_view kStepState = "optim.step";

/// Gradients of `loss` for the parameters that its graph reads, in the order of `parameters`.
/// UserError naming those it does not read.
std::vector<Tensor> gradients_of(const Tensor& loss, const std::vector<Parameter*>& parameters);

/// min(1, max_norm / (norm + 1e-6)) times every gradient, norm over all of them together (f32).
std::vector<Tensor> clip_by_global_norm(const std::vector<Tensor>& grads, double max_norm);

/// Names the next value of every parameter and of the optimizer's own states.
void apply_gradients(Builder& b, const Optimizer& optimizer,
                     const std::vector<Parameter*>& parameters, const std::vector<Tensor>& grads);

/// gradients_of, clipping when clip > 0, apply_gradients: the whole step. Returns the gradients.
std::vector<Tensor> minimize(const Tensor& loss, const std::vector<Parameter*>& parameters,
                             const Optimizer& optimizer, double clip = 0);

/// Accumulation over small batches, as two graphs over the same states. In the first:
/// `optim.grad.NAME` f32 += gradient, `optim.grads` += 1. In the second: updates with the mean and
/// sets both back to zero.
void accumulate_gradients(Builder& b, const std::vector<Parameter*>& parameters,
                          const std::vector<Tensor>& grads);
void apply_accumulated(Builder& b, const Optimizer& optimizer,
                       const std::vector<Parameter*>& parameters, double clip = 0);

}  // namespace plait::nn
