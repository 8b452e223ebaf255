// Placing: what is alive together lies apart, heights are honest, the same input gives the same
// offsets, and traces like training's come close to the bound in little time.
#include "plan/place/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "tests/plan/intervals.h"

namespace plait::plan {
namespace {

/// Places, verifies, and compares every pair besides.
Placement placed(const std::vector<Interval>& intervals, const PlaceOptions& options = {}) {
  const Placement placement = place(intervals, options);
  verify(intervals, placement);
  EXPECT_EQ(placement.lower_bound, lower_bound(intervals));
  EXPECT_GE(placement.height, placement.lower_bound);
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Interval &a = intervals[i], &b = intervals[j];
      if (a.last < b.first || b.last < a.first || a.bytes == 0 || b.bytes == 0) continue;
      const std::int64_t x = placement.offsets[i], y = placement.offsets[j];
      EXPECT_TRUE(x + a.bytes <= y || y + b.bytes <= x) << i << " and " << j;
    }
  }
  return placement;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

TEST(Place, Nothing) {
  const Placement placement = placed({});
  EXPECT_EQ(placement.height, 0);
  EXPECT_TRUE(placement.offsets.empty());
}

TEST(Place, ZeroBytesTakeNoRoom) {
  const Placement placement = placed({{0, 0, 9}, {64, 0, 9}, {0, 3, 3}});
  EXPECT_EQ(placement.height, 64);
  EXPECT_EQ(placement.offsets, (std::vector<std::int64_t>{0, 0, 0}));
}

TEST(Place, LifetimesIncludeTheirLastStep) {
  EXPECT_EQ(placed({{64, 0, 1}, {64, 1, 2}}).height, 128);
  EXPECT_EQ(placed({{64, 0, 1}, {64, 2, 2}}).height, 64);
}

TEST(Place, LowerBoundIsTheFullestStep) {
  EXPECT_EQ(lower_bound({{64, 0, 5}, {128, 2, 3}, {256, 4, 9}, {512, 10, 10}}), 512);
  EXPECT_EQ(lower_bound({{64, 0, 5}, {128, 2, 4}, {256, 4, 9}}), 448);
  EXPECT_EQ(lower_bound({{64, -7, -5}, {64, -6, 0}}), 128);
}

TEST(Place, WhatLivesThroughGoesToTheBottom) {
  const Placement placement = placed({{64, 0, 1}, {640, 0, 9}, {64, 2, 9}, {320, 0, 9}});
  EXPECT_EQ(placement.height, 1024);
  EXPECT_EQ(placed({{640, 0, 9}, {320, 0, 9}}).method, "stacked");
}

TEST(Place, RandomIntervals) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const int count = static_cast<int>(draw(random, 1, 120));
    placed(random_intervals(random, count, 60, round % 3 == 0 ? 60 : 12, round % 2 ? 5 : 4000),
           {.seconds = 0.002});
  }
}

TEST(Place, TheSameInputGivesTheSameOffsets) {
  std::mt19937 random(2);
  const std::vector<Interval> intervals = full_steps(random, 30, 40, 12, 8, true);
  const Placement a = placed(intervals, {.seconds = 0.01}),
                  b = placed(intervals, {.seconds = 0.01});
  EXPECT_EQ(a.offsets, b.offsets);
  EXPECT_EQ(a.method, b.method);
}

TEST(Place, StopsAtTheCapacity) {
  std::mt19937 random(3);
  const std::vector<Interval> intervals = full_steps(random, 30, 40, 12, 8, true);
  const Placement quick = placed(intervals, {.capacity = 64 * 400});
  EXPECT_GT(quick.height, quick.lower_bound) << "the instance is too easy for this test";
  EXPECT_EQ(quick.method.rfind("greedy", 0), 0u) << quick.method;
  EXPECT_LE(placed(intervals, {.capacity = 64 * 44}).height, 64 * 44);
}

TEST(Place, MoreTimeIsNeverWorse) {
  std::mt19937 random(4);
  int better = 0;
  for (int round = 0; round < 20; ++round) {
    const std::vector<Interval> intervals = full_steps(random, 30, 40, 12, 8, true);
    const std::int64_t greedy = placed(intervals, {.seconds = 0}).height;
    const std::int64_t searched = placed(intervals, {.seconds = 0.02}).height;
    EXPECT_LE(searched, greedy);
    better += searched < greedy;
  }
  EXPECT_GT(better, 10);
}

TEST(Place, ATrainingTraceComesCloseInLittleTime) {
  std::mt19937 random(5);
  for (int layers : {40, 150, 500}) {
    const std::vector<Interval> intervals = training_trace(random, layers);
    const double start = cpu_seconds();
    const Placement placement = place(intervals);
    const double seconds = cpu_seconds() - start;
    verify(intervals, placement);
    EXPECT_LE(static_cast<double>(placement.height),
              1.02 * static_cast<double>(placement.lower_bound))
        << layers << " layers";
#ifdef NDEBUG
    EXPECT_LT(seconds, 0.1) << layers << " layers";
#else
    EXPECT_LT(seconds, 2) << layers << " layers";
#endif
  }
}

TEST(Place, ManyBuffersEndInTime) {
  std::mt19937 random(6);
  const std::vector<Interval> intervals = random_intervals(random, 10'000, 10'000, 300, 500);
  const double start = cpu_seconds();
  const Placement placement = place(intervals);
  EXPECT_LT(cpu_seconds() - start, 5);
  verify(intervals, placement);
  EXPECT_LE(static_cast<double>(placement.height),
            1.3 * static_cast<double>(placement.lower_bound));
}

TEST(Place, RefusesWhatIsNoInterval) {
  EXPECT_THROW(place({{-64, 0, 1}}), Bug);
  EXPECT_THROW(place({{64, 2, 1}}), Bug);
}

TEST(Verify, SeesWhatIsWrong) {
  const std::vector<Interval> intervals{{64, 0, 4}, {128, 4, 6}, {64, 7, 9}};
  const auto with = [](std::vector<std::int64_t> offsets, std::int64_t height) {
    return Placement{std::move(offsets), height, 192, "by hand"};
  };
  EXPECT_NO_THROW(verify(intervals, with({0, 64, 0}, 192)));
  EXPECT_NO_THROW(verify(intervals, with({128, 0, 128}, 192)));
  EXPECT_THROW(verify(intervals, with({0, 0, 0}, 128)), Bug);     // both at 0 in step 4
  EXPECT_THROW(verify(intervals, with({64, 0, 0}, 128)), Bug);    // the first in the second
  EXPECT_THROW(verify(intervals, with({0, 32, 0}, 160)), Bug);    // half in
  EXPECT_THROW(verify(intervals, with({0, 64, 0}, 256)), Bug);    // too high
  EXPECT_THROW(verify(intervals, with({0, 64, 0}, 128)), Bug);    // too low
  EXPECT_THROW(verify(intervals, with({0, 64, -64}, 192)), Bug);  // below the arena
  EXPECT_THROW(verify(intervals, with({0, 64}, 192)), Bug);       // one is missing
}

}  // namespace
}  // namespace plait::plan
