// The measured peaks: plausible, and counted as they should be.
#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>
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

/// Whether a thread of this process is kept on cpus of which `cpu` is none.
bool is_one_kept_off(int cpu) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    cpu_set_t set;
    CPU_ZERO(&set);
    const pid_t id = std::stoi(task.path().filename().string());
    if (::sched_getaffinity(id, sizeof set, &set) == 0 && !CPU_ISSET(cpu, &set)) return true;
  }
  return false;
}

/// As after a pool was made: it keeps its maker on one cpu. Where threads may run is looked up and
/// not timed: other programs may be on the cpus too.
TEST(ProfilePeaks, ThreadsAreNotWhereTheirMakerIsKept) {
  const std::vector<int> cpus = process_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "there is one cpu";
  const int cpu = cpus[0];
  ASSERT_FALSE(is_one_kept_off(cpu));
  std::atomic<bool> done{false}, seen{false};
  std::thread kept([&] {
    stay_on({cpu});
    for (int i = 0; i < 20 && !seen; ++i) measure_peaks(2);
    done = true;
  });
  while (!done && !seen) seen = is_one_kept_off(cpu);
  kept.join();
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace plait::profile
