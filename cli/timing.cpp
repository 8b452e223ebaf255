// Medians and countdowns.
#include "cli/timing.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/summary.h"

namespace plait::cli {
namespace {

constexpr double kWorthALine = 2;     // seconds
constexpr double kRedrawEvery = 0.2;  // seconds, on a terminal
constexpr double kPrintEvery = 10;    // seconds, elsewhere

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

double seconds_wanted(const Args& args, double otherwise) {
  if (!args.has("--seconds")) return otherwise;
  double seconds = 0;
  try {
    seconds = parse_real(args.text("--seconds"), "--seconds");
  } catch (const UserError& e) {
    throw UsageError(e.what());
  }
  if (!(seconds > 0) || !std::isfinite(seconds)) {
    throw UsageError(str("--seconds must be more than 0, is ", args.text("--seconds")));
  }
  return seconds;
}

Countdown::~Countdown() {
  if (open_line_) print_error("\r\x1b[K");
}

void Countdown::tick(std::int64_t runs, double share) {
  const Clock::time_point now = Clock::now();
  const double elapsed = seconds_between(start_, now);
  const bool redraws = error_is_terminal();
  if (seconds_between(shown_, now) < (redraws ? kRedrawEvery : kPrintEvery)) return;
  share = std::clamp(share, 1e-9, 1.0);
  const double left = elapsed * (1 - share) / share;
  if (elapsed + left < kWorthALine) return;
  shown_ = now;
  const std::string line = str(what_, ": ", with_commas(runs), runs == 1 ? " run" : " runs", ", ",
                               static_cast<int>(100 * share), "%  eta ", duration_text(left));
  open_line_ = redraws;
  redraws ? print_error("\r\x1b[K" + line) : note(line);
}

}  // namespace plait::cli
