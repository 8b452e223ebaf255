// Loss curves: well-formed SVG, what is drawn, round ticks, gaps and thinning.
#include "train/curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace plait::train {
namespace {

Record at(std::int64_t step, double loss) {
  Record r;
  r.step = step;
  r.loss = loss;
  return r;
}

Curve falling(int steps) {
  Curve curve{"f32", {}};
  Smoothed smoothed;
  for (int i = 1; i <= steps; ++i) {
    Record r = at(i, 1 + 4 * std::exp(-5.0 * i / steps));
    smoothed.add(*r.loss);
    r.smoothed_loss = smoothed.value();
    r.smoothing = Smoothed::kConstant;
    if (i % 100 == 0) r.eval_loss = *r.loss * 1.1;
    curve.records.push_back(r);
  }
  return curve;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Every tag is closed in order, and no coordinate is not a number.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != svg.npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, svg.npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    EXPECT_EQ(count(tag, "\"") % 2, 0u) << tag;
    EXPECT_EQ(tag.find("nan"), tag.npos) << tag;
    EXPECT_EQ(tag.find("inf"), tag.npos) << tag;
    if (tag.ends_with("/")) continue;
    const std::string name = tag.substr(0, tag.find(' '));
    if (!name.starts_with("/")) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty());
    EXPECT_EQ(name, "/" + open.back());
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST(Curve, OneRun) {
  const std::string svg = curve_svg({falling(1000)}, "rwkv4 <3x128> & more");
  expect_well_formed(svg);
  EXPECT_NE(svg.find("rwkv4 &lt;3x128&gt; &amp; more"), svg.npos);
  EXPECT_EQ(count(svg, "class=\"raw\""), 2u);  // the line and the legend
  EXPECT_EQ(count(svg, "class=\"smooth\""), 2u);
  EXPECT_EQ(count(svg, "class=\"eval\""), 11u);
  EXPECT_NE(svg.find(">smoothed (0.98)</text>"), svg.npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), svg.npos);
  for (const char* tick : {">1</text>", ">2</text>", ">5</text>", ">200</text>", ">1,000</text>"}) {
    EXPECT_NE(svg.find(tick), svg.npos) << tick;
  }
  EXPECT_NE(svg.find(">loss</text>"), svg.npos);
  EXPECT_EQ(svg.find("logarithmic"), svg.npos);
}

TEST(Curve, SeveralRunsAreNamedOnce) {
  Curve other = falling(200);
  other.name = "bf16";
  const std::string svg = curve_svg({falling(200), other}, "t");
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, ">f32</text>"), 1u);
  EXPECT_EQ(count(svg, ">bf16</text>"), 1u);
}

TEST(Curve, AWideRangeIsLogarithmic) {
  const Curve wide{"", {at(1, 10), at(2, 1), at(3, 0.1), at(4, 0.01)}};
  const std::string svg = curve_svg({wide}, "t");
  expect_well_formed(svg);
  EXPECT_NE(svg.find("loss (logarithmic)"), svg.npos);
  // The values lie on a line that falls evenly.
  EXPECT_NE(svg.find("d=\"M70 88.9L338.7 196.3L607.3 303.7L876 411.1\""), svg.npos) << svg;
  EXPECT_EQ(curve_svg({wide}, "t", LossAxis::linear).find("logarithmic"), svg.npos);
}

TEST(Curve, GapsWhereALossIsNoNumber) {
  const double inf = INFINITY;
  const std::string svg =
      curve_svg({{"", {at(1, 3), at(2, 2), at(3, NAN), at(4, inf), at(5, 2), at(6, 1)}}}, "t");
  expect_well_formed(svg);
  const std::size_t line = svg.find("<path d=\"M70 "), end = svg.find("class=\"raw\"", line);
  ASSERT_NE(line, svg.npos);
  const std::size_t last = svg.rfind("<path d=", end);
  EXPECT_EQ(std::count(svg.begin() + std::ptrdiff_t(last), svg.begin() + std::ptrdiff_t(end), 'M'),
            2);
  // Zero has no place on a logarithmic axis.
  expect_well_formed(curve_svg({{"", {at(1, 3), at(2, 0), at(3, 1)}}}, "t", LossAxis::logarithmic));
  expect_well_formed(curve_svg({{"", {at(1, -3), at(2, -1)}}}, "t", LossAxis::logarithmic));
}

TEST(Curve, LittleOrNothing) {
  EXPECT_NE(curve_svg({}, "t").find("nothing was logged"), std::string::npos);
  for (const Curve& curve :
       {Curve{}, Curve{"", {at(0, NAN)}}, Curve{"", {at(7, 2)}}, Curve{"", {at(1, 0), at(2, 0)}},
        Curve{"", {at(1, 1e-300)}}, Curve{"", {at(1, 1e300), at(2, 1e-300)}}}) {
    for (const LossAxis axis : {LossAxis::automatic, LossAxis::linear, LossAxis::logarithmic}) {
      expect_well_formed(curve_svg({curve}, "t", axis));
    }
  }
}

TEST(Curve, ALongRunIsThinnedOutButKeepsItsPeak) {
  Curve curve = falling(200'000);
  curve.records[123'456].loss = 9;
  const std::string svg = curve_svg({curve}, "t");
  EXPECT_LT(svg.size(), 200'000u);
  EXPECT_NE(svg.find(" 88.9L"), svg.npos);  // where the highest loss lies
}

}  // namespace
}  // namespace plait::train
