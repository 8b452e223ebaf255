// From a network to its package of graphs.
#include "models/package.h"

#include "ops/loss.h"
#include "passes/amp.h"

namespace plait::models {

namespace {

void add_graph(ir::Package& package, Builder& b, const std::optional<DType>& mixed) {
  DecisionLog log;
  package.graphs.push_back(mixed ? amp(b.graph(), *mixed, log) : b.take());
  if (!log.empty()) package.logs.emplace(package.graphs.back().name, std::move(log));
}

void add_step(const Network& network, const nn::StepOptions& options,
              const nn::Optimizer& optimizer, Builder& b) {
  const Tensor loss = network.loss(b, network.forward(b));
  b.fetch("loss", loss);
  const nn::Step step = nn::minimize(loss, network.root.parameters(), optimizer, options);
  if (step.grad_norm) b.fetch("grad_norm", step.grad_norm);
  if (step.skipped) b.fetch("skipped", step.skipped);
}

}  // namespace

ir::Package package_of(const Network& network, const Settings& settings,
                       const nn::Optimizer& own_optimizer) {
  ir::Package package;
  const nn::Optimizer optimizer = settings.optimizer(own_optimizer);
  const nn::StepOptions options = settings.step(network.root.parameters());
  const std::optional<DType> mixed = settings.mixed();
  if (!settings.flag("train")) {
    network.root.train(false);
    Builder b(network.name);
    b.fetch(network.output, network.forward(b));
    add_graph(package, b, mixed);
    return package;
  }
  network.root.train(true);
  Builder step("train");
  add_step(network, options, optimizer, step);
  add_graph(package, step, mixed);

  network.root.train(false);
  Builder eval("eval");
  const Tensor output = network.forward(eval);
  eval.fetch("loss", network.loss(eval, output));
  eval.fetch(network.output, output);
  add_graph(package, eval, mixed);
  return package;
}

Tensor classification_loss(const Tensor& logits, const Tensor& targets, std::int64_t axis) {
  return ops::cross_entropy(widen(logits), targets, ops::CrossEntropy{.axis = axis});
}

}  // namespace plait::models
