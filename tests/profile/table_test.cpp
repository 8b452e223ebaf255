// Medians, rates and the tables for people.
#include <gtest/gtest.h>

#include <algorithm>

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

TEST(ProfileTable, TextSaysTotals) {
  const std::string text = table_text(small_profile());
  EXPECT_NE(text.find("small on cpu, 2 threads, test"), std::string::npos) << text;
  EXPECT_NE(text.find("median of 3 runs 0.200 ms (0.100 to 0.300); steps 0.160 ms, between them "
                      "0.040 ms"),
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
    const std::size_t end = lines[i].find(" ms") + 3;
    for (std::size_t j = i; j < lines.size() && !lines[j].empty(); ++j) {
      EXPECT_EQ(lines[j].size(), lines[i].size()) << lines[j];
      EXPECT_NE(lines[j][end - 1], ' ') << lines[j];
      EXPECT_EQ(lines[j][end], ' ') << lines[j];
    }
  }
  EXPECT_EQ(tables, 2);
}

}  // namespace
}  // namespace plait::profile
