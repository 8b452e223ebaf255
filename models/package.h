// From a network to the package of graphs that a model's spec asks for.
#pragma once

#include <functional>
#include <string>

#include "models/registry.h"
#include "nn/module.h"

namespace plait::models {

/// A network with its feeds: what its graphs have in common.
struct Network {
  nn::Module& root;
  std::string name;                                            // of the inference graph
  std::string output;                                          // the fetch: y, logits, probs
  std::function<Tensor(Builder&)> forward;                     // feeds its input
  std::function<Tensor(Builder&, const Tensor& output)> loss;  // feeds its targets
};

/// Without train=1: one graph that fetches the output. With it: `train`, which fetches the loss and
/// names the next states, and `eval` over the same states, which fetches loss and output. `train`
/// also fetches `grad_norm` when it clips and `skipped` when it may leave out an update. All in the
/// precision that was asked for.
ir::Package package_of(const Network& network, const Settings& settings,
                       const nn::Optimizer& own_optimizer);

/// Mean cross-entropy against i64 targets, in f32 for halves; classes are along `axis`.
Tensor classification_loss(const Tensor& logits, const Tensor& targets, std::int64_t axis);

}  // namespace plait::models
