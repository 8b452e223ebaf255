// How far training is: on a terminal one line that is redrawn and cut to its width, elsewhere a
// plain line per log. The clock, the width and the place it is written to are passed in.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "train/metrics.h"

namespace plait::train {

/// Columns of the terminal behind a file descriptor; 80 where it does not say.
int terminal_columns(int file);

/// `4m07s`, `2h05m`, `3d04h`
std::string span_text(double seconds);

/// What one line says of a record, the most important first; parts that would pass `columns` are
/// left out, the last one is cut. `seconds_left` below zero: not known.
std::string progress_line(const Record& record, std::int64_t steps, double seconds_left,
                          int columns);

class Progress {
 public:
  struct Place {
    std::function<void(std::string_view)> print;
    std::function<double()> seconds;                   // a clock that never goes back
    bool redraws = false;                              // a terminal
    std::function<int()> columns = [] { return 80; };  // asked at each redraw
  };
  /// `steps` in all, of which `done` are (a resumed run).
  Progress(Place place, std::int64_t done, std::int64_t steps);
  /// Ends a redrawn line that is still open.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A step is done. `logs`: this record is a log; elsewhere than on a terminal only those show.
  void step_done(const Record& record, bool logs);
  /// A line of its own: an evaluation, a checkpoint. The redrawn line comes back at the next step.
  void note(std::string_view text);
  /// Until the end at the pace so far, below zero while that is not known. The first step is no
  /// measure: kernels are compiled and loaded in it.
  double seconds_left() const;

 private:
  Place place_;
  std::int64_t done_, steps_;
  std::int64_t paced_from_ = -1;  // the step after which the pace is measured
  double paced_since_ = 0, last_shown_ = -1;
  bool open_line_ = false;
};

}  // namespace plait::train
