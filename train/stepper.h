// One update of the weights: the learning rate set, as many batches run as are accumulated, what
// the graph said of it.
#pragma once

#include <exception>
#include <functional>
#include <optional>

#include "train/data/sampler.h"
#include "train/job.h"

namespace plait::train {

struct StepResult {
  double loss = 0;           // mean over the batches
  std::optional<double> lr;  // none: the graph has a rate of its own
  std::optional<double> gradient_norm;
  bool skipped = false;  // the update was left out: gradients were not all finite
  std::int64_t samples = 0, tokens = 0;
  Position behind;  // its last batch
};

class Stepper {
 public:
  /// The job must outlive it.
  explicit Stepper(Job& job);

  /// Fills a batch with what comes next, and says where that ends.
  using Next = std::function<Position(Batch& into)>;
  /// Update number `step`, which counts from 0. Where a run goes on behind the caller's back, the
  /// batch behind it is asked for meanwhile; that of the next update only if `goes_on`. What goes
  /// wrong with it is thrown when it is its turn.
  StepResult take(std::int64_t step, const Next& next, bool goes_on);
  /// Whether there is a state for the learning rate; a graph that updates its weights itself may
  /// have none.
  bool has_rate() const { return has_rate_; }
  /// Of that update, as the state holds it.
  Array rate_of(std::int64_t step) const;
  /// The states were set from elsewhere.
  void forget() { rate_.reset(); }

 private:
  struct Filled {
    Batch batch;
    Position behind;
    std::exception_ptr failed;
  };
  static void fill(Filled& into, const Next& next);

  Job& job_;
  bool has_rate_;  // a state for the learning rate
  Filled now_, next_;
  bool ahead_ = false;          // next_ was asked for before its turn
  std::optional<double> rate_;  // what the state holds
};

}  // namespace plait::train
