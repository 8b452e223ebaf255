// Warm-up and curves of the learning rate.
#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace plait::train {
namespace {

double ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

/// What is left of the way from lr (1) to min_lr (0) after the share `done` of it.
double left(const Config::Schedule& schedule, double done) {
  if (schedule.kind == "cosine") return 0.5 * (1 + std::cos(std::numbers::pi * done));
  if (schedule.kind == "linear") return 1 - done;
  if (schedule.kind == "polynomial") return std::pow(1 - done, schedule.power);
  throw Bug(str("the schedule '", schedule.kind, "' has no curve"));
}

}  // namespace

double learning_rate(const Config::Schedule& schedule, double lr, std::int64_t total,
                     std::int64_t step) {
  check(step >= 0, "step ", step, " has no learning rate");
  const std::int64_t warmup = schedule.warmup_steps;
  if (step < warmup) {
    return lr * (schedule.warmup_from + (1 - schedule.warmup_from) * ratio(step, warmup));
  }
  const std::int64_t after = step - warmup;
  if (schedule.kind == "constant") return lr;
  if (schedule.kind == "step") {
    return lr * std::pow(schedule.gamma, static_cast<double>(after / schedule.step_every));
  }
  const std::int64_t whole = schedule.decay_steps > 0 ? schedule.decay_steps : total - warmup;
  const double done = after >= whole ? 1 : ratio(after, whole);
  return schedule.min_lr + (lr - schedule.min_lr) * left(schedule, done);
}

}  // namespace plait::train
