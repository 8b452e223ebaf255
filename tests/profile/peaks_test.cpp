// The measured peaks: plausible, and counted as they should be.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "base/cpus.h"
#include "profile/fma_loops.h"
#include "profile/profile.h"

namespace plait::profile {
namespace {

/// Twelve or eight chains from 0, 1, 2... towards 1 by x * 0.999 + 0.001, summed over the lanes.
double expected_sum(int chains, int lanes, std::int64_t rounds) {
  double sum = 0;
  for (int i = 0; i < chains; ++i) sum += 1 + (i - 1) * std::pow(0.999, rounds);
  return sum * lanes;
}

TEST(ProfilePeaks, LoopsDoTheRoundsTheySay) {
  EXPECT_NEAR(fma_baseline().run(1000), expected_sum(8, 4, 1000), 1e-2);
  EXPECT_EQ(fma_baseline().operations, 2 * 8 * 4);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    EXPECT_NEAR(fma_avx2().run(1000), expected_sum(12, 8, 1000), 1e-2);
    EXPECT_EQ(fma_avx2().operations, 2 * 12 * 8);
  }
  if (__builtin_cpu_supports("avx512f")) {
    EXPECT_NEAR(fma_avx512().run(1000), expected_sum(12, 16, 1000), 1e-2);
    EXPECT_EQ(fma_avx512().operations, 2 * 12 * 16);
  }
#endif
}

/// Each round adds `terms` products of 1/16 and 1/16 to every element.
void expect_dots(const FmaLoop& loop, int elements, int terms) {
  constexpr std::int64_t kRounds = 1000;
  EXPECT_EQ(loop.operations, std::int64_t{2} * elements * terms);
  EXPECT_EQ(loop.run(kRounds), static_cast<float>(kRounds * elements * terms) / 256);
}

TEST(ProfilePeaks, ProductsOfHalves) {
  EXPECT_EQ(measure_dot_gflops("none", 1), 0);
  const double f32 = measure_peaks(1).gflops;
  int units = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bf16")) {
    expect_dots(dot_avx512bf16(), 12 * 16, 2);
    EXPECT_GT(measure_dot_gflops("avx512bf16", 1), 0.3 * f32);
    ++units;
  }
  if (may_use_amx()) {
    expect_dots(dot_amx(), 4 * 16 * 16, 32);
    EXPECT_GT(measure_dot_gflops("amx", 1), f32);
    ++units;
  }
#endif
  if (units == 0) GTEST_SKIP() << "the processor has no unit for them";
}

TEST(ProfilePeaks, ArePlausible) {
  const Peaks one = measure_peaks(1);
  EXPECT_GT(one.gflops, 1);
  EXPECT_LT(one.gflops, 1000);  // of one thread: 64 a cycle at 5 GHz is 320
  EXPECT_GT(one.gbs, 0.5);
  EXPECT_LT(one.gbs, 1000);
}

/// As after a pool was made: it keeps its maker on one cpu.
TEST(ProfilePeaks, ThreadsAreNotWhereTheirMakerIsKept) {
  const std::vector<int> cpus = process_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "there is one cpu";
  double best = 0;
  std::thread kept([&] {
    stay_on({cpus[0]});
    for (int i = 0; i < 40 && best < 1.4; ++i) {  // other programs may be on the cpus too
      best = std::max(best, measure_peaks(2).gflops / measure_peaks(1).gflops);
    }
  });
  kept.join();
  EXPECT_GT(best, 1.4);
}

}  // namespace
}  // namespace plait::profile
