// Words and options, and how numbers, arrays and durations read.
#include "cli/args.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cli/summary.h"
#include "tests/raises.h"

namespace plait::cli {
namespace {

constexpr Flag kFlags[] = {{"--steps", "N", ""}, {"--feed", "X", "", true}, {"--json", "", ""}};

TEST(Args, FlagsAndWords) {
  const Args args(kFlags, {"a", "--steps", "-3", "b", "--json", "--feed=x=1", "--feed", "y", "-"});
  EXPECT_EQ(args.words(), (std::vector<std::string>{"a", "b", "-"}));
  EXPECT_EQ(args.whole("--steps", 0), -3);
  EXPECT_TRUE(args.has("--json"));
  EXPECT_EQ(args.all("--feed"), (std::vector<std::string>{"x=1", "y"}));
}

TEST(Args, DefaultsWhereNothingIsGiven) {
  const Args args(kFlags, {});
  EXPECT_EQ(args.whole("--steps", 7, 1), 7);
  EXPECT_EQ(args.text("--steps", "x"), "x");
  EXPECT_TRUE(args.all("--feed").empty());
  EXPECT_FALSE(args.has("--json"));
}

TEST(Args, WordsAfterTwoDashes) {
  EXPECT_EQ(Args(kFlags, {"--", "--json", "--"}).words(),
            (std::vector<std::string>{"--json", "--"}));
}

TEST(Args, NameAndValue) {
  EXPECT_EQ(name_and_value("--feed", "a=b=c"), (std::pair<std::string, std::string>{"a", "b=c"}));
  EXPECT_EQ(test::message_of<UsageError>([] { name_and_value("--feed", "=x"); }),
            "--feed wants name=value, is given '=x'");
}

TEST(Summary, OfNumbers) {
  const Summary s = summarise("a", Array::of(DType::f32, {3}, {1, -2, 4}));
  EXPECT_EQ(s.type, "f32[3]");
  EXPECT_EQ(*s.min, -2);
  EXPECT_EQ(*s.max, 4);
  EXPECT_EQ(*s.mean, 1);
  EXPECT_EQ(s.hash.size(), 16u);
  EXPECT_EQ(s.value, "");
}

TEST(Summary, OfNothingAndOfNan) {
  EXPECT_FALSE(summarise("a", Array(DType::f32, {0})).min.has_value());
  const Summary s = summarise("a", Array::of(DType::f32, {3}, {1, NAN, 4}));
  EXPECT_TRUE(std::isnan(*s.min) && std::isnan(*s.max) && std::isnan(*s.mean));
}

TEST(Summary, ScalarsReadBackExactly) {
  EXPECT_EQ(summarise("a", Array::scalar(DType::f32, 0.1)).value, "0.1");
  EXPECT_EQ(summarise("a", Array::scalar(DType::f64, 0.1)).value, "0.1");
  EXPECT_EQ(summarise("a", Array::scalar(DType::f16, 2)).value, "2.0");
  EXPECT_EQ(summarise("a", Array::scalar(DType::i64, -7)).value, "-7");
  EXPECT_EQ(summarise("a", Array::scalar(DType::boolean, 1)).value, "true");
  EXPECT_EQ(summarise("a", Array::scalar(DType::f32, INFINITY)).value, "inf");
}

TEST(Summary, Durations) {
  EXPECT_EQ(duration_text(0), "0.00 ms");
  EXPECT_EQ(duration_text(7.84e-8), "0.0000784 ms");
  EXPECT_EQ(duration_text(0.00042), "0.420 ms");
  EXPECT_EQ(duration_text(0.0042), "4.20 ms");
  EXPECT_EQ(duration_text(0.0123), "12 ms");
  EXPECT_EQ(duration_text(2.34), "2.3 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 5 min");
  EXPECT_EQ(duration_text(1e300), "2.78e+296 h");
  EXPECT_EQ(duration_text(HUGE_VAL), "inf h");
}

}  // namespace
}  // namespace plait::cli
