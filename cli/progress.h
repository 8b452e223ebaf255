// How far a run is: one line per step, and an estimate of the rest for all that takes longer than
// two seconds. On a terminal the line is redrawn, elsewhere lines follow each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "program/program.h"

namespace plait::cli {

class Progress {
 public:
  /// `quiet`: nothing goes to standard output (it carries JSON).
  Progress(std::int64_t steps, bool quiet);
  /// Ends a redrawn line that is still open.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The clock starts now; loading and initial values are over.
  void start() { start_ = step_start_ = last_shown_ = Clock::now(); }
  /// One of the program's steps was computed, in their order.
  void part_done(const program::Program& program, const program::Step& part);
  /// A step was computed; `results` is what to say of it. Returns its duration in seconds.
  double step_done(const std::string& results);

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_since(Clock::time_point start) const;
  /// `  eta 12 s`, or nothing while the whole takes less than two seconds.
  std::string eta(double done) const;
  void show(const std::string& line, bool final);

  double work_done_ = 0;  // of the step that runs
  std::int64_t steps_, step_ = 0;
  bool quiet_, redraws_, open_line_ = false;
  Clock::time_point start_ = Clock::now(), step_start_ = start_, last_shown_ = start_;
};

}  // namespace plait::cli
