// Medians, rates and the tables for people.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "tests/profile/small_profile.h"

namespace plait::profile {
namespace {

std::vector<std::string> lines_of(const std::string& text) { return split(text, '\n'); }

TEST(ProfileTable, KindsAreMediansLongestFirst) {
  const std::vector<Row> rows = by_kind(small_profile());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].kind, "ConvolutionForward");
  EXPECT_EQ(rows[1].kind, "MatrixMul");
  EXPECT_EQ(rows[2].kind, "Elemwise");
  EXPECT_EQ(rows[2].launches, 2);
  EXPECT_NEAR(rows[2].ms, 0.030, 1e-9);  // 15 units of 2 us
  EXPECT_NEAR(rows[0].share, 0.5, 1e-9);
  EXPECT_EQ(rows[2].operations, 288);
  EXPECT_EQ(rows[2].bytes, 2304 + 80);
  EXPECT_NEAR(rows[2].gbs, 2384 / 30e-6 * 1e-9, 1e-9);
  EXPECT_NEAR(rows[2].share_of_peak, rows[2].gbs / 0.5, 1e-9);  // bytes are nearer to their peak
  EXPECT_NEAR(rows[0].share_of_peak, rows[0].gflops, 1e-9);     // operations are
}

TEST(ProfileTable, TheMedianOfAnEvenNumberLiesBetween) {
  Profile p = small_profile();
  p.runs.pop_back();  // units of 3 and 2 us are left
  EXPECT_NEAR(by_kind(p)[0].ms, 0.100, 1e-9);
}

TEST(ProfileTable, StepsAreTheSlowest) {
  const std::vector<Row> rows = by_step(small_profile(), 2);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].kind, "%conv2d");
  EXPECT_EQ(rows[0].kernel, "conv2d.kernel");
  EXPECT_EQ(rows[1].kind, "%matmul");
  EXPECT_NEAR(rows[1].share, 25.0 / 80, 1e-9);  // of all steps, not of those shown
  EXPECT_TRUE(by_step(small_profile(), 0).empty());
  EXPECT_EQ(by_step(small_profile(), 100).size(), 4u);
}

TEST(ProfileTable, WithoutPeaksOrRunsThereIsNoShare) {
  Profile p = small_profile();
  p.peak_gflops = p.peak_gbs = 0;
  EXPECT_EQ(by_kind(p)[0].share_of_peak, 0);
  EXPECT_GT(by_kind(p)[0].gflops, 0);
  p.runs.clear();
  EXPECT_EQ(by_kind(p)[0].gflops, 0);
  EXPECT_NE(table_text(p).find("not run"), std::string::npos);
}

TEST(ProfileTable, NothingIsAboveItsPeak) {
  Profile p = small_profile();
  EXPECT_EQ(table_text(p).find(">100%"), std::string::npos);
  p.peak_gbs = 0.01;  // as caches are faster than memory
  const std::string text = table_text(p);
  EXPECT_NE(text.find(" >100%\n"), std::string::npos) << text;
  EXPECT_NE(text.find(">100%: faster than the peak that was measured"), std::string::npos) << text;
  EXPECT_EQ(text.find("4768.0%"), std::string::npos) << text;
}

TEST(ProfileTable, APredictionOfOtherSizesIsComparedWithNothing) {
  Profile p = small_profile();
  p.predicted_ms = 0.0123;
  EXPECT_NE(table_text(p).find("\nPredicted 0.0123 ms, measured 0.200 ms: "), std::string::npos);
  EXPECT_NE(error_percent(p), 0);
  p.predicted_at = "batch=64";
  EXPECT_NE(table_text(p).find("\nPredicted 0.0123 ms at batch=64, the largest sizes: nothing is "
                               "predicted for those that ran\n"),
            std::string::npos);
  EXPECT_EQ(error_percent(p), 0);
  EXPECT_TRUE(by_error(p, 10).empty());
}

TEST(ProfileTable, TextSaysTotals) {
  const std::string text = table_text(small_profile());
  EXPECT_NE(text.find("small on cpu, 2 threads, test"), std::string::npos) << text;
  EXPECT_NE(text.find("median of 3 runs 0.200 ms (0.100 to 0.300); steps 0.160 ms, between them "
                      "0.0400 ms"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("operations 36,576: 0.2 GFLOP/s, 18.3% of the measured 1.0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("arena 2,752 (2.8 kB), alive at once 2,688 (2.7 kB)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("0.25% longer"), std::string::npos) << text;
}

TEST(ProfileTable, ColumnsLineUp) {
  const std::vector<std::string> lines = lines_of(table_text(small_profile()));
  int tables = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("kind ") && !lines[i].starts_with("step ")) continue;
    ++tables;
    const std::size_t end = lines[i].find(" us") + 3;
    for (std::size_t j = i; j < lines.size() && !lines[j].empty(); ++j) {
      EXPECT_EQ(lines[j].size(), lines[i].size()) << lines[j];
      EXPECT_NE(lines[j][end - 1], ' ') << lines[j];
      EXPECT_EQ(lines[j][end], ' ') << lines[j];
    }
  }
  EXPECT_EQ(tables, 2);
}

/// The small profile as a device's: products in bf16, all else in f32.
Profile device_profile() {
  Profile p = small_profile();
  p.machine = p.device = "GPU with 8 multiprocessors";
  p.rates = {{"bf16", 40'000}, {"f32", 1}};
  p.peak_gflops = 40'000;
  p.peak_gbs = 2'000;
  p.steps[0].precision = p.steps[2].precision = "bf16";
  p.steps[1].precision = p.steps[3].precision = "f32";
  p.steps[2].operations = 1'000'000'000'000;
  p.steps[1].operations = 1'000'000;
  return p;
}

TEST(ProfileTable, OfADeviceEveryStepHasTheRateOfItsPrecision) {
  std::map<std::string, double> ms;  // at the ceilings
  for (const Row& row : by_step(device_profile(), 4)) {
    ms[row.kind] = row.peak_ms;
    EXPECT_NEAR(row.share_of_peak, row.peak_ms / row.ms, 1e-9);
  }
  for (const Row& row : by_kind(device_profile())) ms[row.kind] = row.peak_ms;
  EXPECT_NEAR(ms["%matmul"], 25, 1e-9);
  EXPECT_NEAR(ms["%relu"], 1, 1e-9);
  EXPECT_NEAR(ms["%adam"], 80 / 2e12 * 1e3, 1e-12);  // of its bytes
  EXPECT_NEAR(ms["Elemwise"], ms["%relu"] + ms["%adam"], 1e-9);
}

TEST(ProfileTable, OfADeviceItSaysItsCeilingsInLargeUnits) {
  const std::string text = table_text(device_profile());
  EXPECT_NE(text.find("small on cpu, GPU with 8 multiprocessors\n"), std::string::npos) << text;
  EXPECT_NE(text.find("of the measured 40.00 (bf16)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("ceilings measured: copy 2.00 TB/s; products bf16 40.00 TFLOP/s, f32 1.0 "
                      "GFLOP/s\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  us   share   TFLOP/s  GB/s  "), std::string::npos) << text;
}

TEST(ProfileTable, WhatAClockAddsIsTakenOffEveryStep) {
  Profile p = small_profile();  // medians of 80, 20, 50 and 10 us
  p.launch_ms = 0.132;
  take_off_clocks(p);
  EXPECT_NEAR(p.taken_us, 7, 1e-6);
  const std::vector<Row> rows = by_step(p, 4);
  EXPECT_NEAR(rows[0].ms, 0.073, 1e-6);
  EXPECT_NEAR(rows[3].ms, 0.003, 1e-6);
  for (const auto& run : p.runs) {
    EXPECT_EQ(run.steps.front().begin_ns, run.whole.begin_ns);
    EXPECT_EQ(run.steps.back().end_ns, run.whole.end_ns);
  }
  p = small_profile();
  p.launch_ms = 0.107;
  take_off_clocks(p);
  EXPECT_NEAR(p.taken_us, 15, 1e-6);
  EXPECT_NEAR(by_step(p, 4)[3].ms, 0.002, 1e-6);  // a fifth is left
  p = small_profile();
  p.launch_ms = 0.170;  // longer than the steps
  take_off_clocks(p);
  EXPECT_EQ(p.taken_us, 0);
  EXPECT_NEAR(by_step(p, 4)[0].ms, 0.080, 1e-9);
}

TEST(ProfileTable, LongIdsAreShortened) {
  EXPECT_EQ(short_id("loop.pointwise.5591afac"), "loop.pointwise.5591afac");
  const std::string one = "lt.tn.bf16.1800000042_100000023_0_5000000000007_1fc3400000001";
  EXPECT_EQ(short_id(one).size(), 37u);
  EXPECT_TRUE(short_id(one).starts_with(one.substr(0, 28) + "~"));
  EXPECT_NE(short_id(one), short_id(one + "_1"));
}

}  // namespace
}  // namespace plait::profile
