// The picture of an arena: what is in it, as text.
#include "plan/place/timeline.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace plait::plan {
namespace {

int count(const std::string& text, std::string_view what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

const std::vector<Interval> kIntervals{
    {1'000'000, 0, 3}, {0, 1, 1}, {2'000'000, 2, 2}, {500'000, 3, 3}};

TEST(Timeline, HasOneRectanglePerBufferThatHasBytes) {
  const std::string svg = timeline_svg(kIntervals, place(kIntervals), {"x", "empty", "y", "z"},
                                       {"load", "add", "mul", "store"}, "a title");
  EXPECT_EQ(count(svg, "<title>"), 3);
  EXPECT_EQ(count(svg, "<title>empty"), 0);
  EXPECT_NE(svg.find("<title>y\n2,000,000 (2.0 MB) at offset 1,000,000\nstep 2 mul to step 2 mul"),
            std::string::npos)
      << svg;
  EXPECT_NE(svg.find(">a title</text>"), std::string::npos);
}

TEST(Timeline, MarksThePeakAndSaysWhatIsLost) {
  Placement placement = place(kIntervals);
  const std::string tight = timeline_svg(kIntervals, placement, {}, {}, "");
  EXPECT_NE(tight.find(">step 2: 3.0 MB</text>"), std::string::npos);
  EXPECT_NE(tight.find("nothing lost"), std::string::npos);
  placement.offsets[2] = 1'300'000;
  placement.height = 3'300'000;
  const std::string loose = timeline_svg(kIntervals, placement, {}, {}, "");
  EXPECT_NE(loose.find("(+10%)"), std::string::npos);
}

TEST(Timeline, EscapesNames) {
  const std::string svg =
      timeline_svg({{64, 0, 0}}, place({{64, 0, 0}}), {"a<b> & \"c\""}, {"<s>"}, "<t>");
  EXPECT_NE(svg.find("a&lt;b&gt; &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("<s>"), std::string::npos);
  EXPECT_EQ(svg.find("<t>"), std::string::npos);
}

TEST(Timeline, DrawsNothingToo) {
  const std::string svg = timeline_svg({}, place({}), {}, {}, "empty");
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Timeline, RefusesAPlacementOfOtherIntervals) {
  EXPECT_THROW(timeline_svg(kIntervals, place({{64, 0, 0}}), {}, {}, ""), Bug);
}

}  // namespace
}  // namespace plait::plan
