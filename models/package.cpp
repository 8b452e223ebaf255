// From a network to its package of graphs.
#include "models/package.h"

#include "ops/loss.h"

namespace plait::models {

ir::Package package_of(const Network& network, const Settings& settings,
                       const nn::Optimizer& own_optimizer) {
  ir::Package package;
  const nn::Optimizer optimizer = settings.optimizer(own_optimizer);
  if (!settings.flag("train")) {
    network.root.train(false);
    Builder b(network.name);
    b.fetch(network.output, network.forward(b));
    package.graphs.push_back(b.take());
    return package;
  }
  network.root.train(true);
  Builder step("train");
  const Tensor loss = network.loss(step, network.forward(step));
  step.fetch("loss", loss);
  nn::minimize(loss, network.root.parameters(), optimizer);
  package.graphs.push_back(step.take());

  network.root.train(false);
  Builder eval("eval");
  const Tensor output = network.forward(eval);
  eval.fetch("loss", network.loss(eval, output));
  eval.fetch(network.output, output);
  package.graphs.push_back(eval.take());
  return package;
}

Tensor classification_loss(const Tensor& logits, const Tensor& targets, std::int64_t axis) {
  return ops::cross_entropy(widen(logits), targets, ops::CrossEntropy{.axis = axis});
}

}  // namespace plait::models
