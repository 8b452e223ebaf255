// What timed loops share: the clock, medians, and how much of a loop is left.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/args.h"

namespace plait::cli {

using Clock = std::chrono::steady_clock;

inline double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}
inline double seconds_since(Clock::time_point from) { return seconds_between(from, Clock::now()); }

/// Of an even number of values, half between the two in the middle; 0 of none.
double median(std::vector<double> values);

/// What --seconds says, more than 0; UsageError otherwise.
double seconds_wanted(const Args& args, double otherwise);

/// Tells on standard error how far a loop of more than two seconds is, a few times a second on a
/// terminal, every ten seconds elsewhere.
class Countdown {
 public:
  explicit Countdown(std::string what) : what_(std::move(what)) {}
  /// Ends a redrawn line that is still open.
  ~Countdown();
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;

  /// To be called between runs: so many are done, this share of the loop.
  void tick(std::int64_t runs, double share);

 private:
  std::string what_;
  bool open_line_ = false;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
};

}  // namespace plait::cli
