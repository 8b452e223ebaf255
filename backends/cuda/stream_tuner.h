// Whether the same steps run faster on several streams or in one: a few runs of each, in turn.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

namespace plait::cuda {

class StreamTuner {
 public:
  enum Way { kStreams, kInOrder };

  bool decided() const { return decided_; }
  /// Of the next run.
  Way way() const { return way_; }

  void decide(Way way) {
    way_ = way;
    decided_ = true;
  }

  /// The run that way() was asked for; the fastest of each way counts, since others only disturb.
  void took(double seconds) {
    double& best = best_[way_];
    best = std::min(best, seconds);
    if (++runs_ == 2 * kRuns) return decide(best_[kInOrder] < best_[kStreams] ? kInOrder : kStreams);
    way_ = way_ == kStreams ? kInOrder : kStreams;
  }

  /// What was measured does not hold any more; what is decided stays.
  void start_over() {
    if (!decided_) *this = StreamTuner();
  }

 private:
  static constexpr int kRuns = 4;  // of each
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  std::array<double, 2> best_{kNever, kNever};
  Way way_ = kStreams;
  int runs_ = 0;
  bool decided_ = false;
};

}  // namespace plait::cuda
