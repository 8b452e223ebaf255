// Taking a step.
#include "train/stepper.h"

#include <algorithm>
#include <utility>

#include "nn/optimizer.h"
#include "train/schedule.h"

namespace plait::train {

Stepper::Stepper(Job& job) : job_(job) {
  const std::vector<std::string> states = job.session->state_names();
  const auto add = [&](std::string state, double lr) {
    const bool there = std::find(states.begin(), states.end(), state) != states.end();
    if (there) rates_.push_back({std::move(state), lr, {}});
  };
  const Config::Optimizer& optimizer = job.config.optimizer;
  add(std::string(nn::kLearningRateState), optimizer.lr);
  for (std::size_t i = 0; i < optimizer.groups.size(); ++i) {
    const nn::GroupRule rule = nn::parse_group_rule(optimizer.groups[i], "optimizer.groups");
    if (rule.lr) add(nn::group_rate_state("", i + 1), *rule.lr);
  }
}

double Stepper::at(const Rate& rate, std::int64_t step) const {
  return learning_rate(job_.config.schedule, rate.lr, job_.steps, step);
}

Array Stepper::held(const Rate& rate, std::int64_t step) const {
  return Array::scalar(job_.session->state(rate.state).dtype(), at(rate, step));
}

Arrays Stepper::rates_of(std::int64_t step) const {
  Arrays out;
  for (const Rate& rate : rates_) out.emplace(rate.state, held(rate, step));
  return out;
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
  if (!rates_.empty()) out.lr = at(rates_.front(), step);
  for (Rate& rate : rates_) {
    const double now = at(rate, step);
    if (rate.set != now) job_.session->set_state(rate.state, held(rate, step));
    rate.set = now;
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
