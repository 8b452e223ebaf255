// Progress lines.
#include "train/progress.h"

#include <sys/ioctl.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace plait::train {
namespace {

constexpr double kRedrawEvery = 0.1;  // seconds
constexpr int kUsualColumns = 80;

template <class... Values>
std::string format(const char* form, Values... values) {
  char text[64];
  std::snprintf(text, sizeof text, form, values...);
  return text;
}

/// Four significant digits, or whole with commas: 3.142, 31.42, 3,142
std::string rate_text(double value) {
  if (!std::isfinite(value)) return real_text(value);
  if (value >= 999.5 && value < 1e15) return with_commas(std::llround(value));
  return format("%.3g", value);
}

std::string memory_text(double bytes) {
  return bytes < 1e9 ? format("%.1f MB", bytes / 1e6) : format("%.2f GB", bytes / 1e9);
}

std::vector<std::string> parts_of(const Record& r, std::int64_t steps, double seconds_left) {
  std::vector<std::string> parts{str("step ", r.step, "/", steps)};
  if (r.loss) {
    std::string loss = format("loss %.4f", *r.loss);
    if (r.smoothed_loss) loss += format(" (smoothed %.4f)", *r.smoothed_loss);
    parts.push_back(loss);
  }
  if (r.eval_loss) parts.push_back(format("eval loss %.4f", *r.eval_loss));
  if (r.eval_perplexity) parts.push_back(format("eval perplexity %.4g", *r.eval_perplexity));
  if (r.eval_accuracy) parts.push_back(format("eval accuracy %.2f%%", 100 * *r.eval_accuracy));
  if (seconds_left >= 0) parts.push_back("eta " + span_text(seconds_left));
  if (r.samples_per_second) parts.push_back(rate_text(*r.samples_per_second) + " samples/s");
  if (r.tokens_per_second) parts.push_back(rate_text(*r.tokens_per_second) + " tokens/s");
  if (r.mfu) parts.push_back(format("MFU %.1f%%", 100 * *r.mfu));
  if (r.lr) parts.push_back(format("lr %.3g", *r.lr));
  if (r.memory_bytes) parts.push_back(memory_text(*r.memory_bytes));
  return parts;
}

}  // namespace

int terminal_columns(int file) {
  struct winsize size {};
  const bool says = ::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return says ? size.ws_col : kUsualColumns;
}

std::string span_text(double seconds) {
  if (!(seconds < 100.0 * 86400 * 365)) return "forever";
  const long long s = std::llround(seconds);
  if (s < 60) return format("%llds", s);
  if (s < 3600) return format("%lldm%02llds", s / 60, s % 60);
  if (s < 86400) return format("%lldh%02lldm", s / 3600, s / 60 % 60);
  return format("%lldd%02lldh", s / 86400, s / 3600 % 24);
}

std::string progress_line(const Record& record, std::int64_t steps, double seconds_left,
                          int columns) {
  const auto room = static_cast<std::size_t>(columns > 0 ? columns : 0);
  std::string line;
  for (const std::string& part : parts_of(record, steps, seconds_left)) {
    const std::string more = line.empty() ? part : "  " + part;
    if (!line.empty() && line.size() + more.size() > room) break;
    line += more;
  }
  return line.substr(0, room);
}

Progress::Progress(Place place, std::int64_t done, std::int64_t steps)
    : place_(std::move(place)), done_(done), steps_(steps) {}

Progress::~Progress() {
  if (!open_line_) return;
  try {
    place_.print("\n");
  } catch (...) {  // whoever reads has gone
  }
}

double Progress::seconds_left() const {
  if (done_ >= steps_) return 0;
  if (paced_from_ < 0 || done_ <= paced_from_) return -1;
  const double pace = (place_.seconds() - paced_since_) / static_cast<double>(done_ - paced_from_);
  return pace * static_cast<double>(steps_ - done_);
}

void Progress::step_done(const Record& record, bool logs) {
  done_ = record.step;
  const double now = place_.seconds();
  if (paced_from_ < 0) {
    paced_from_ = done_;
    paced_since_ = now;
  }
  const bool last = done_ >= steps_;
  if (!place_.redraws) {
    constexpr int kAny = 1 << 20;
    if (logs) place_.print(progress_line(record, steps_, seconds_left(), kAny) + "\n");
    return;
  }
  if (!last && last_shown_ >= 0 && now - last_shown_ < kRedrawEvery) return;
  last_shown_ = now;
  // A line as wide as the terminal would wrap in some.
  const int columns = place_.columns() - 1;
  open_line_ = !last;
  place_.print(
      str("\r\x1b[K", progress_line(record, steps_, seconds_left(), columns), last ? "\n" : ""));
}

void Progress::note(std::string_view text) {
  place_.print(str(open_line_ ? "\r\x1b[K" : "", text, "\n"));
  open_line_ = false;
}

}  // namespace plait::train
