// Taking a step.
#include "train/stepper.h"

#include <algorithm>
#include <utility>

#include "nn/optimizer.h"
#include "train/schedule.h"

namespace plait::train {
namespace {

const std::string kLearningRate(nn::kLearningRateState);

}  // namespace

Stepper::Stepper(Job& job) : job_(job) {
  const std::vector<std::string> names = job.session->state_names();
  has_rate_ = std::find(names.begin(), names.end(), kLearningRate) != names.end();
}

Array Stepper::rate_of(std::int64_t step) const {
  const DType dtype = job_.session->state(kLearningRate).dtype();
  return Array::scalar(dtype, learning_rate(job_.config, job_.steps, step));
}

void Stepper::fill(Filled& into, const Next& next) {
  try {
    into.behind = next(into.batch);
  } catch (...) {
    into.failed = std::current_exception();
  }
}

StepResult Stepper::take(std::int64_t step, const Next& next, bool goes_on) {
  StepResult out;
  if (has_rate_) {
    out.lr = learning_rate(job_.config, job_.steps, step);
    if (rate_ != out.lr) job_.session->set_state(kLearningRate, rate_of(step));
    rate_ = out.lr;
  }
  const std::int64_t runs = job_.config.train.accumulate;
  for (std::int64_t i = 0; i < runs; ++i) {
    job_.step.ahead = std::exchange(ahead_, false);
    if (job_.step.ahead) {
      std::swap(now_, next_);
    } else {
      fill(now_, next);
    }
    if (now_.failed) std::rethrow_exception(std::exchange(now_.failed, nullptr));
    const auto ahead = [&]() -> const Arrays* {
      if (i + 1 == runs && !goes_on) return nullptr;
      fill(next_, next);
      ahead_ = true;
      return next_.failed ? nullptr : &next_.batch.feeds;
    };
    std::swap(job_.step.feeds, now_.batch.feeds);  // no copies, and the arrays come back
    const Arrays results = job_.session->run(job_.step, ahead);
    std::swap(job_.step.feeds, now_.batch.feeds);
    out.loss += results.at("loss").real(0) / static_cast<double>(runs);
    out.samples += now_.batch.samples;
    out.tokens += now_.batch.tokens;
    out.behind = now_.behind;
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
