// One update of the weights: the learning rate set, as many batches run as are accumulated, what
// the graph said of it.
#pragma once

#include <functional>
#include <optional>

#include "train/job.h"

namespace plait::train {

struct StepResult {
  double loss = 0;  // mean over the batches
  double lr = 0;
  std::optional<double> gradient_norm;
  bool skipped = false;  // the update was left out: gradients were not all finite
  std::int64_t samples = 0, tokens = 0;
};

class Stepper {
 public:
  /// The job must outlive it.
  explicit Stepper(Job& job) : job_(job) {}

  /// Fills a batch with what comes next.
  using Next = std::function<void(Batch& into)>;
  /// Update number `step`, which counts from 0.
  StepResult take(std::int64_t step, const Next& next);
  /// Of that update, as the state holds it.
  Array rate_of(std::int64_t step) const;
  /// The states were set from elsewhere.
  void forget() { rate_.reset(); }

 private:
  Job& job_;
  Batch batch_;
  std::optional<double> rate_;  // what the state holds
};

}  // namespace plait::train
