// Progress lines.
#include "cli/progress.h"

#include <algorithm>

#include "base/error.h"
#include "cli/output.h"
#include "cli/summary.h"

namespace plait::cli {
namespace {

constexpr double kWorthAnEstimate = 2;  // seconds
constexpr double kRedrawEvery = 0.2;    // seconds, on a terminal
constexpr double kPrintEvery = 10;      // seconds, elsewhere

/// Of one step of a program: a share of what its run takes.
double work_of(const program::Step& step) {
  const Dim work = step.operations + step.bytes_read + step.bytes_written;
  return 1 + static_cast<double>(work.hi());
}

}  // namespace

Progress::Progress(std::int64_t steps, bool quiet)
    : steps_(steps), quiet_(quiet), redraws_(quiet ? error_is_terminal() : output_is_terminal()) {}

Progress::~Progress() {
  if (open_line_) print_error("\n");
}

double Progress::seconds_since(Clock::time_point start) const {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string Progress::eta(double done) const {
  const double elapsed = seconds_since(start_);
  const double left = done > 0 ? elapsed * (static_cast<double>(steps_) - done) / done : 0;
  if (elapsed + left < kWorthAnEstimate || left <= 0) return "";
  return "  eta " + duration_text(left);
}

void Progress::show(const std::string& line, bool final) {
  last_shown_ = Clock::now();
  if (redraws_) {
    const std::string text = "\r\x1b[K" + line + (final ? "\n" : "");
    open_line_ = !final;
    if (quiet_) return print_error(text);
    return print(text);
  }
  if (!quiet_) print(line + "\n");
}

void Progress::part_done(const program::Program& program, const program::Step& part) {
  work_done_ += work_of(part);
  if (seconds_since(start_) < kWorthAnEstimate) return;
  if (seconds_since(last_shown_) < (redraws_ ? kRedrawEvery : kPrintEvery)) return;
  double all = 0;
  for (const program::Step& step : program.steps) all += work_of(step);
  const double fraction = std::min(work_done_ / all, 1.0);
  const std::string line =
      str("step ", step_ + 1, "/", steps_, "  ", static_cast<int>(100 * fraction), "%",
          eta(static_cast<double>(step_) + fraction));
  if (redraws_) return show(line, false);
  // Results are on standard output; that a step goes on is a note beside them.
  last_shown_ = Clock::now();
  note(line);
}

double Progress::step_done(const std::string& results) {
  const double seconds = seconds_since(step_start_);
  ++step_;
  show(str("step ", step_, "/", steps_, results, "  ", duration_text(seconds),
           eta(static_cast<double>(step_))),
       step_ == steps_);
  step_start_ = Clock::now();
  work_done_ = 0;
  return seconds;
}

}  // namespace plait::cli
