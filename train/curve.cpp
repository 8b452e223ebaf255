// Drawing of loss curves.
#include "train/curve.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace plait::train {
namespace {

constexpr double kWidth = 900, kHeight = 480;
constexpr double kLeft = 70, kRight = 876, kTop = 76, kBottom = 424;  // the plot
constexpr int kColumns = 800;  // a line has at most four points in each
constexpr double kSpanForLog = 20;

// Seen on white and on black alike; run i has colour i.
constexpr const char* kColours[] = {"#3b82d0", "#d9713c", "#3fa065",
                                    "#a26bc2", "#c2912f", "#cf5a7e"};

// Without variables: not every program that draws SVG knows them.
constexpr const char* kStyle =
    "<style>\n"
    ".ground{fill:#fff}text{fill:#333}.grid{stroke:#e4e4e4}.axis{stroke:#888}\n"
    ".raw{fill:none;stroke-width:1;stroke-opacity:.5}\n"
    ".smooth{fill:none;stroke-width:2.4;stroke-linejoin:round}\n"
    ".eval{stroke:#fff;stroke-width:1.2}\n"
    "@media(prefers-color-scheme:dark){.ground{fill:#14171c}text{fill:#d4d7dc}"
    ".grid{stroke:#2b3038}.axis{stroke:#7c828c}.eval{stroke:#14171c}}\n"
    "</style>\n";

struct Point {
  double step, loss;
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string number(const char* form, double value) {
  char text[32];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

/// A coordinate.
std::string at(double value) {
  std::string s = number("%.1f", value);
  if (s.ends_with(".0")) s.resize(s.size() - 2);
  return s;
}

/// 1, 2 or 5 times a power of ten, so that about `ticks` of them make `range`.
double tick_step(double range, int ticks) {
  const double raw = range / ticks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * 0.999) return factor * power;
  }
  return 10 * power;
}

class Plot {
 public:
  Plot(const std::vector<Curve>& curves, LossAxis axis) : curves_(curves) {
    find_range();
    const bool wide = low_ > 0 && high_ / low_ > kSpanForLog;
    log_ = high_ > 0 && (axis == LossAxis::logarithmic || (axis == LossAxis::automatic && wide));
    if (log_) {
      low_ = std::log10(least_positive_);
      high_ = std::log10(high_);
    }
    if (high_ - low_ < 1e-9 * std::max(1.0, std::abs(high_))) {
      low_ -= log_ ? 0.1 : 0.5 * std::max(1e-6, std::abs(low_) * 0.1);
      high_ += log_ ? 0.1 : 0.5 * std::max(1e-6, std::abs(high_) * 0.1);
    }
    const double margin = 0.04 * (high_ - low_);
    low_ -= margin;
    high_ += margin;
  }

  std::string draw(std::string_view title) {
    out_ = str("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", kHeight,
               "\" width=\"", kWidth, "\" height=\"", kHeight,
               "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" role=\"img\">\n",
               "<title>", escaped(title), "</title>\n", kStyle, "<rect class=\"ground\" width=\"",
               kWidth, "\" height=\"", kHeight, "\"/>\n");
    text(kLeft, 28, title, "font-size=\"17\" font-weight=\"bold\"");
    draw_axes();
    double legend = kLeft;
    for (std::size_t i = 0; i < curves_.size(); ++i) draw_curve(i, legend);
    if (curves_.size() > 1) text(legend, 56, "thin: loss, thick: smoothed, dots: evaluation");
    if (!any_) text((kLeft + kRight) / 2, (kTop + kBottom) / 2, "nothing was logged", kMiddle);
    return out_ + "</svg>\n";
  }

 private:
  static constexpr const char* kMiddle = "text-anchor=\"middle\"";

  double x(double step) const {
    return kLeft + (kRight - kLeft) * (step - first_) / (last_ - first_);
  }
  /// Not finite where the axis has no place for it.
  double y(double loss) const {
    const double value = log_ ? (loss > 0 ? std::log10(loss) : NAN) : loss;
    return kBottom - (kBottom - kTop) * (value - low_) / (high_ - low_);
  }

  void find_range();
  void draw_axes();
  void draw_losses();
  void draw_curve(std::size_t i, double& legend);
  void loss_tick(double loss);
  std::vector<Point> points(std::size_t i, Record::Value Record::*value) const;
  std::string path(const std::vector<Point>& points) const;
  void text(double x, double y, std::string_view words, std::string_view more = "") {
    out_ +=
        str("<text x=\"", at(x), "\" y=\"", at(y), "\" ", more, ">", escaped(words), "</text>\n");
  }
  void line(double x1, double y1, double x2, double y2, std::string_view more) {
    out_ += str("<path d=\"M", at(x1), " ", at(y1), "L", at(x2), " ", at(y2), "\" ", more, "/>\n");
  }
  /// The next entry of the legend: a mark at `legend`, then words.
  void entry(double& legend, std::string_view mark, const std::string& words) {
    out_ += str("<g transform=\"translate(", at(legend), " 52)\">", mark, "</g>\n");
    text(legend + 24, 56, words);
    legend += 42 + 6.3 * static_cast<double>(words.size());
  }

  const std::vector<Curve>& curves_;
  double first_ = 0, last_ = 1;  // steps
  double low_ = 0, high_ = 1;    // losses, their logarithms where log_
  double least_positive_ = 1;
  bool log_ = false, any_ = false;
  std::string out_;
};

void Plot::find_range() {
  first_ = low_ = least_positive_ = std::numeric_limits<double>::infinity();
  last_ = high_ = -first_;
  for (const Curve& curve : curves_) {
    for (const Record& r : curve.records) {
      for (const auto& value : {r.loss, r.smoothed_loss, r.eval_loss}) {
        if (!value || !std::isfinite(*value)) continue;
        any_ = true;
        low_ = std::min(low_, *value);
        high_ = std::max(high_, *value);
        if (*value > 0) least_positive_ = std::min(least_positive_, *value);
        first_ = std::min(first_, static_cast<double>(r.step));
        last_ = std::max(last_, static_cast<double>(r.step));
      }
    }
  }
  if (!any_) {
    first_ = low_ = 0;
    last_ = high_ = 1;
  }
  if (last_ <= first_) last_ = first_ + 1;
}

void Plot::loss_tick(double loss) {
  if (!std::isfinite(y(loss))) return;  // beyond what a double holds
  line(kLeft, y(loss), kRight, y(loss), "class=\"grid\"");
  text(kLeft - 8, y(loss) + 4, number("%.4g", loss), "text-anchor=\"end\"");
}

/// Round losses across the plot: a power of ten (with its 2 and 5 where there are few), or steps.
void Plot::draw_losses() {
  if (!log_) {
    const double step = tick_step(high_ - low_, 6);
    for (double k = std::ceil(low_ / step); k * step <= high_; ++k) loss_tick(k * step);
    return;
  }
  const double decades = high_ - low_;
  const double stride = std::max(1.0, std::ceil(decades / 8));
  for (double power = std::floor(low_ / stride) * stride; power <= high_; power += stride) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && decades > 3) break;
      const double place = power + std::log10(factor);
      if (place >= low_ && place <= high_) loss_tick(factor * std::pow(10, power));
    }
  }
}

void Plot::draw_axes() {
  if (any_) draw_losses();
  const double step = std::max(1.0, tick_step(last_ - first_, 10));
  const double start = std::ceil(first_ / step) * step;
  for (int i = 0; i < 20 && start + i * step <= last_; ++i) {
    const double s = start + i * step;
    line(x(s), kBottom, x(s), kBottom + 5, "class=\"axis\"");
    text(x(s), kBottom + 19, with_commas(static_cast<std::int64_t>(s)), kMiddle);
  }
  line(kLeft, kBottom, kRight, kBottom, "class=\"axis\"");
  line(kLeft, kTop, kLeft, kBottom, "class=\"axis\"");
  text((kLeft + kRight) / 2, kBottom + 41, "step", kMiddle);
  text(0, 0, log_ ? "loss (logarithmic)" : "loss",
       str(kMiddle, " transform=\"translate(20 ", at((kTop + kBottom) / 2), ") rotate(-90)\""));
}

std::vector<Point> Plot::points(std::size_t i, Record::Value Record::*value) const {
  std::vector<Point> points;
  for (const Record& r : curves_[i].records) {
    if (r.*value) points.push_back({static_cast<double>(r.step), *(r.*value)});
  }
  return points;
}

/// A line through the points, broken where there is no place for one. Of the points in one column
/// of pixels the first, the extremes and the last are drawn.
std::string Plot::path(const std::vector<Point>& points) const {
  std::string path;
  bool pen = false;
  const auto add = [&](const Point& p) {
    const double height = y(p.loss);
    if (std::isfinite(height)) path += str(pen ? "L" : "M", at(x(p.step)), " ", at(height));
    pen = std::isfinite(height);
  };
  const auto column = [&](std::size_t k) {
    return static_cast<int>((points[k].step - first_) / (last_ - first_) * kColumns);
  };
  for (std::size_t k = 0; k < points.size();) {
    std::size_t end = k, least = k, most = k;
    for (; end < points.size() && column(end) == column(k); ++end) {
      if (!std::isfinite(y(points[end].loss))) break;
      if (points[end].loss < points[least].loss) least = end;
      if (points[end].loss > points[most].loss) most = end;
    }
    if (end == k) {
      add(points[k++]);  // a gap
      continue;
    }
    std::size_t drawn[] = {k, std::min(least, most), std::max(least, most), end - 1};
    std::for_each(drawn, std::unique(std::begin(drawn), std::end(drawn)),
                  [&](std::size_t j) { add(points[j]); });
    k = end;
  }
  return path;
}

void Plot::draw_curve(std::size_t i, double& legend) {
  const char* colour = kColours[i % std::size(kColours)];
  const bool several = curves_.size() > 1;
  bool named = false;
  // One run: an entry for each kind of mark. Several: one for each run.
  const auto explain = [&](const std::string& mark, const std::string& words) {
    if (!several || !named) entry(legend, mark, several ? curves_[i].name : words);
    named = true;
  };
  const auto draw = [&](const char* kind, Record::Value Record::*value, const std::string& words) {
    const std::string d = path(points(i, value));
    if (d.empty()) return;
    const std::string look = str("class=\"", kind, "\" stroke=\"", colour, "\"");
    out_ += str("<path d=\"", d, "\" ", look, "/>\n");
    explain(str("<path d=\"M0 0H18\" ",
                several ? str("stroke-width=\"2.4\" stroke=\"", colour, "\"") : look, "/>"),
            words);
  };
  draw("raw", &Record::loss, "loss");
  const std::vector<Point> constant = points(i, &Record::smoothing);
  draw("smooth", &Record::smoothed_loss,
       constant.empty() ? "smoothed" : str("smoothed (", number("%g", constant.back().loss), ")"));
  bool seen = false;
  for (const Point& p : points(i, &Record::eval_loss)) {
    if (!std::isfinite(y(p.loss))) continue;
    const auto dot = [&](double cx, double cy) {
      return str("<circle class=\"eval\" r=\"4\" cx=\"", at(cx), "\" cy=\"", at(cy), "\" fill=\"",
                 colour, "\"/>");
    };
    out_ += dot(x(p.step), y(p.loss)) + "\n";
    if (!seen) explain(dot(9, 0), "evaluation");
    seen = true;
  }
}

}  // namespace

std::string curve_svg(const std::vector<Curve>& curves, std::string_view title, LossAxis axis) {
  return Plot(curves, axis).draw(title);
}

}  // namespace plait::train
