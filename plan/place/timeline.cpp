// The drawing of a placement. Colours tell how long a buffer lives: what is short, medium and long
// is a share of all steps.
#include "plan/place/timeline.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "base/text.h"

namespace plait::plan {
namespace {

constexpr double kWidth = 1200, kHeight = 600;
constexpr double kLeft = 74, kRight = 1182, kTop = 96, kBottom = 552;  // the plot

struct Kind {
  const char* name;
  const char* colour;
  double share;  // lives at most this share of all steps
};
constexpr Kind kKinds[] = {
    {"brief: up to 1% of the steps", "#8fb8de", 0.01},
    {"short: up to 10%", "#7cc6a4", 0.10},
    {"long: up to 50%", "#f2c36b", 0.50},
    {"through most of the run", "#dd8a7c", 1.00},
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

/// A coordinate with at most two digits behind the point.
std::string at(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string s = text;
  s.erase(s.find_last_not_of('0') + 1);
  if (s.back() == '.') s.pop_back();
  return s;
}

std::string megabytes(std::int64_t bytes) {
  char text[32];
  const double mb = static_cast<double>(bytes) / 1e6;
  std::snprintf(text, sizeof text, mb >= 100 ? "%.0f" : mb >= 1 ? "%.1f" : "%.3g", mb);
  return text;
}

/// 1, 2 or 5 times a power of ten, so that about `ticks` of them make `range`; at least `least`.
double tick_step(double range, int ticks, double least) {
  const double raw = std::max(range / ticks, least);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * 0.999) return factor * power;
  }
  return 10 * power;
}

class Timeline {
 public:
  Timeline(const std::vector<Interval>& intervals, const Placement& placement,
           const std::vector<std::string>& labels, const std::vector<std::string>& steps)
      : intervals_(intervals), placement_(placement), labels_(labels), steps_(steps) {
    check(placement.offsets.size() == intervals.size(), "[timeline] ", intervals.size(),
          " intervals, but ", placement.offsets.size(), " offsets");
    std::int64_t first = 0, last = static_cast<std::int64_t>(steps.size());
    bool any = !steps.empty();
    for (const Interval& interval : intervals) {
      first = any ? std::min(first, interval.first) : interval.first;
      last = any ? std::max(last, interval.last + 1) : interval.last + 1;
      any = true;
    }
    first_ = first;
    last_ = std::max(last, first + 1);
    find_live();
  }

  std::string draw(std::string_view title) {
    out_ = str("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", kHeight,
               "\" width=\"", kWidth, "\" height=\"", kHeight,
               "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#444\">\n",
               "<rect width=\"", kWidth, "\" height=\"", kHeight, "\" fill=\"#fff\"/>\n");
    draw_head(title);
    draw_axes();
    draw_buffers();
    draw_live();
    return out_ + "</svg>\n";
  }

 private:
  double x(std::int64_t step) const {
    return kLeft + (kRight - kLeft) * static_cast<double>(step - first_) /
                       static_cast<double>(last_ - first_);
  }
  double y(std::int64_t offset) const {
    const double height = static_cast<double>(std::max<std::int64_t>(placement_.height, 1));
    return kBottom - (kBottom - kTop) * static_cast<double>(offset) / height;
  }
  std::string label(std::size_t i) const {
    return i < labels_.size() && !labels_[i].empty() ? labels_[i] : str("buffer ", i);
  }
  std::string step_name(std::int64_t step) const {
    const bool named = step >= 0 && step < static_cast<std::int64_t>(steps_.size());
    return named ? str("step ", step, " ", steps_[step]) : str("step ", step);
  }

  void find_live();
  void draw_head(std::string_view title);
  void draw_axes();
  void draw_buffers();
  void draw_live();
  void text(double x, double y, std::string_view words, std::string_view more = "") {
    out_ +=
        str("<text x=\"", at(x), "\" y=\"", at(y), "\" ", more, ">", escaped(words), "</text>\n");
  }
  void line(double x1, double y1, double x2, double y2, std::string_view look) {
    out_ += str("<path d=\"M", at(x1), " ", at(y1), "L", at(x2), " ", at(y2), "\" ", look, "/>\n");
  }

  const std::vector<Interval>& intervals_;
  const Placement& placement_;
  const std::vector<std::string>& labels_;
  const std::vector<std::string>& steps_;
  std::int64_t first_ = 0, last_ = 1;                        // the steps shown: first_..last_-1
  std::vector<std::pair<std::int64_t, std::int64_t>> live_;  // from this step on, bytes
  std::int64_t peak_ = 0, peak_step_ = 0;
  std::string out_;
};

void Timeline::find_live() {
  std::vector<std::pair<std::int64_t, std::int64_t>> changes{{first_, 0}, {last_, 0}};
  for (const Interval& interval : intervals_) {
    changes.emplace_back(interval.first, interval.bytes);
    changes.emplace_back(interval.last + 1, -interval.bytes);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t bytes = 0;
  for (const auto& [step, change] : changes) {
    bytes += change;
    if (live_.empty() || live_.back().first != step) live_.emplace_back(step, 0);
    live_.back().second = bytes;
  }
  peak_step_ = first_;
  for (const auto& [step, live] : live_) {
    if (live <= peak_) continue;
    peak_ = live;
    peak_step_ = step;
  }
}

void Timeline::draw_head(std::string_view title) {
  text(kLeft, 26, title, "font-size=\"17\" font-weight=\"bold\" fill=\"#222\"");
  const double gap = peak_ == 0 ? 0
                                : 100.0 * static_cast<double>(placement_.height - peak_) /
                                      static_cast<double>(peak_);
  std::string summary =
      str(intervals_.size(), " buffers in ", last_ - first_, " steps. Arena ",
          megabytes(placement_.height), " MB, most alive at once ", megabytes(peak_), " MB");
  summary += placement_.height == peak_ ? ": nothing lost." : str(" (+", at(gap), "%).");
  if (!placement_.method.empty()) summary += str(" Placed by: ", placement_.method, ".");
  text(kLeft, 45, summary, "font-size=\"12\"");
  double left = kLeft;
  for (const Kind& kind : kKinds) {
    out_ += str("<rect x=\"", at(left), "\" y=\"55\" width=\"10\" height=\"10\" fill=\"",
                kind.colour, "\"/>\n");
    text(left + 15, 64, kind.name);
    left += 32 + 6.1 * static_cast<double>(std::string_view(kind.name).size());
  }
  line(left, 60, left + 16, 60, "stroke=\"#333\" stroke-width=\"1.5\"");
  text(left + 21, 64, "alive");
  line(left + 62, 60, left + 78, 60, "stroke=\"#b03030\" stroke-dasharray=\"4 3\"");
  text(left + 83, 64, "peak");
}

void Timeline::draw_axes() {
  const double step_bytes = tick_step(static_cast<double>(placement_.height), 6, 1);
  for (double b = 0; b <= static_cast<double>(placement_.height); b += step_bytes) {
    const auto bytes = static_cast<std::int64_t>(b);
    line(kLeft, y(bytes), kRight, y(bytes), "stroke=\"#e6e6e6\"");
    text(kLeft - 8, y(bytes) + 4, megabytes(bytes), "text-anchor=\"end\"");
  }
  const auto step =
      static_cast<std::int64_t>(tick_step(static_cast<double>(last_ - first_), 12, 1));
  for (std::int64_t s = (first_ + step - 1) / step * step; s < last_; s += step) {
    line(x(s), kBottom, x(s), kBottom + 4, "stroke=\"#999\"");
    text(x(s), kBottom + 16, str(s), "text-anchor=\"middle\"");
  }
  line(kLeft, kBottom, kRight, kBottom, "stroke=\"#999\"");
  text((kLeft + kRight) / 2, kBottom + 34, "step", "text-anchor=\"middle\"");
  text(0, 0, "offset, MB",
       str("text-anchor=\"middle\" transform=\"translate(20 ", at((kTop + kBottom) / 2),
           ") rotate(-90)\""));
}

void Timeline::draw_buffers() {
  const double steps = static_cast<double>(last_ - first_);
  out_ += "<g stroke=\"#fff\">\n";
  for (std::size_t i = 0; i < intervals_.size(); ++i) {
    const Interval& b = intervals_[i];
    if (b.bytes == 0) continue;
    const double share = static_cast<double>(b.last - b.first + 1) / steps;
    const Kind* kind = std::begin(kKinds);
    while (kind + 1 != std::end(kKinds) && share > kind->share) ++kind;
    const std::int64_t low = placement_.offsets[i], high = low + b.bytes;
    const double width = x(b.last + 1) - x(b.first), height = y(low) - y(high);
    const double edge = std::min({0.5, width / 8, height / 8});  // a thin one is not all edge
    out_ += str("<rect x=\"", at(x(b.first)), "\" y=\"", at(y(high)), "\" width=\"", at(width),
                "\" height=\"", at(height), "\" fill=\"", kind->colour, "\" stroke-width=\"",
                at(edge), "\"><title>", escaped(label(i)), "\n", bytes_text(b.bytes), " at offset ",
                with_commas(low), "\n", escaped(step_name(b.first)), " to ",
                escaped(step_name(b.last)), "</title></rect>\n");
  }
  out_ += "</g>\n";
}

/// The sum of what is alive, as a staircase, and where it is largest.
void Timeline::draw_live() {
  std::string path = str("M", at(x(live_[0].first)), " ", at(y(live_[0].second)));
  for (std::size_t k = 1; k < live_.size(); ++k) {
    path += str("H", at(x(live_[k].first)), "V", at(y(live_[k].second)));
  }
  out_ += str("<path d=\"", path,
              "\" fill=\"none\" stroke=\"#333\" stroke-width=\"1.5\" "
              "pointer-events=\"none\"/>\n");
  const double middle = (x(peak_step_) + x(peak_step_ + 1)) / 2;
  line(middle, kTop - 4, middle, kBottom,
       "stroke=\"#b03030\" stroke-dasharray=\"4 3\" pointer-events=\"none\"");
  const bool right = middle > (kLeft + kRight) / 2;
  text(middle, kTop - 8, str(step_name(peak_step_), ": ", megabytes(peak_), " MB"),
       str("fill=\"#b03030\" text-anchor=\"", right ? "end" : "start", "\""));
}

}  // namespace

std::string timeline_svg(const std::vector<Interval>& intervals, const Placement& placement,
                         const std::vector<std::string>& labels,
                         const std::vector<std::string>& steps, std::string_view title) {
  return Timeline(intervals, placement, labels, steps).draw(title);
}

}  // namespace plait::plan
