// One update of the weights: the learning rate set, as many batches run as are accumulated, what
// the graph said of it.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

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
  /// The learning rates of that update, as the states hold them, by name. A graph that updates its
  /// weights itself may have none.
  Arrays rates_of(std::int64_t step) const;

 private:
  struct Filled {
    Batch batch;
    Position behind;
    std::exception_ptr failed;
  };
  static void fill(Filled& into, const Next& next);
  /// A state that follows the schedule, from a rate of its own.
  struct Rate {
    std::string state;
    double lr;                  // that the schedule starts from
    std::optional<double> set;  // what the state holds
  };
  double at(const Rate& rate, std::int64_t step) const;
  Array held(const Rate& rate, std::int64_t step) const;

  Job& job_;
  Filled now_, next_;
  bool ahead_ = false;       // next_ was asked for before its turn
  std::vector<Rate> rates_;  // the optimizer's, those of its groups: where they have states
};

}  // namespace plait::train
