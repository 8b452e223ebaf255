// Taking a step.
#include "train/stepper.h"

#include "nn/optimizer.h"
#include "train/schedule.h"

namespace plait::train {
namespace {

const std::string kLearningRate(nn::kLearningRateState);

}  // namespace

Array Stepper::rate_of(std::int64_t step) const {
  const DType dtype = job_.session->state(kLearningRate).dtype();
  return Array::scalar(dtype, learning_rate(job_.config, job_.steps, step));
}

StepResult Stepper::take(std::int64_t step, const Next& next) {
  StepResult out;
  out.lr = learning_rate(job_.config, job_.steps, step);
  if (rate_ != out.lr) job_.session->set_state(kLearningRate, rate_of(step));
  rate_ = out.lr;
  const std::int64_t runs = job_.config.train.accumulate;
  for (std::int64_t i = 0; i < runs; ++i) {
    next(batch_);
    std::swap(job_.step.feeds, batch_.feeds);  // no copies, and the arrays come back
    const Arrays results = job_.session->run(job_.step);
    std::swap(job_.step.feeds, batch_.feeds);
    out.loss += results.at("loss").real(0) / static_cast<double>(runs);
    out.samples += batch_.samples;
    out.tokens += batch_.tokens;
    if (const auto norm = results.find("grad_norm"); norm != results.end()) {
      out.gradient_norm = norm->second.real(0);
    }
    if (const auto skipped = results.find("skipped"); skipped != results.end()) {
      out.skipped = skipped->second.integer(0) != 0;
    }
  }
  return out;
}

}  // namespace plait::train
