// The search behind placing, against every order of small instances and against packings that have
// no byte to spare; and the compression and cutting that it stands on.
#include "plan/place/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "plan/place/greedy.h"
#include "tests/plan/intervals.h"

namespace plait::plan {
namespace {

std::vector<int> all_of(const std::vector<Interval>& intervals) {
  std::vector<int> ids(intervals.size());
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

/// The best height there is: laid from the bottom up, some order of the buffers gives it.
std::int64_t best_of_all_orders(const Problem& problem) {
  std::vector<int> order(problem.size());
  std::iota(order.begin(), order.end(), 0);
  std::int64_t best = -1;
  Work work;
  do {
    const std::int64_t height =
        height_of(problem, pack_in_order(problem, order, Fit::lowest, work));
    if (best < 0 || height < best) best = height;
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(Compress, KeepsTheLargestSetsAlone) {
  //                                    0     1     2     3     4     5
  const std::vector<Interval> intervals{{1, 0, 5}, {2, 1, 2}, {3, 2, 3}, {4, 4, 4}, {5, 8, 8}};
  const Problem problem = compress(intervals, all_of(intervals));
  EXPECT_EQ(problem.sections, 3);
  EXPECT_EQ(problem.begin, (std::vector<int>{0, 0, 0, 1, 2}));
  EXPECT_EQ(problem.end, (std::vector<int>{2, 1, 1, 2, 3}));
  EXPECT_EQ(problem.lower_bound, 6);
  EXPECT_EQ(loads(problem), (std::vector<std::int64_t>{6, 5, 5}));
}

TEST(Compress, ConflictsStayConflicts) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    const std::vector<Interval> v = random_intervals(random, 30, 40, 10, 9);
    const Problem p = compress(v, all_of(v));
    EXPECT_EQ(p.lower_bound, lower_bound(v));
    for (int i = 0; i < p.size(); ++i) {
      for (int j = 0; j < i; ++j) {
        EXPECT_EQ(v[i].first <= v[j].last && v[j].first <= v[i].last,
                  p.begin[i] < p.end[j] && p.begin[j] < p.end[i]);
      }
    }
  }
}

TEST(Decompose, CutsAndPeels) {
  // One that lives through, two pieces above it; the second piece has one through it as well.
  const std::vector<Interval> intervals{{64, 0, 9}, {128, 0, 1}, {192, 1, 2}, {64, 2, 3},
                                        {64, 3, 4}, {64, 5, 9},  {128, 5, 6}, {64, 7, 9}};
  std::vector<std::int64_t> offsets(intervals.size(), -1);
  Work work{1'000'000};
  const std::vector<Part> parts = decompose(intervals, all_of(intervals), offsets, work);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].ids, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(parts[0].base, 64);
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, -1, -1, -1, -1, 64, 128, 128}));
}

/// No step has more than 5 units alive, but no placement is lower than 6.
const std::vector<Interval> kOutOfReach{{192, 0, 0}, {128, 0, 1}, {64, 1, 3},  {128, 1, 2},
                                        {64, 2, 3},  {64, 2, 2},  {192, 3, 4}, {128, 4, 4}};

TEST(Search, AgreesWithEveryOrderOfSmallInstances) {
  std::mt19937 random(2);
  int above = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<Interval> intervals = kOutOfReach;
    for (int change = 0; change < round / 10; ++change) {
      Interval& interval = intervals[draw(random, 0, 7)];
      interval.bytes = 64 * draw(random, 1, 4);
      interval.last = std::min<std::int64_t>(4, interval.first + draw(random, 0, 2));
    }
    const Problem problem = compress(intervals, all_of(intervals));
    const std::int64_t best = best_of_all_orders(problem);
    EXPECT_TRUE(round > 0 || best == 64 * 6) << best;
    Work work{1'000'000'000};
    const Found found = search(problem, best, work);
    ASSERT_EQ(found.outcome, Outcome::found) << round;
    EXPECT_EQ(found.packed.height, best);
    EXPECT_EQ(search(problem, best - 1, work).outcome, Outcome::none) << round;
    EXPECT_EQ(place(intervals).height, best) << round;
    above += best > problem.lower_bound;
  }
  EXPECT_GT(above, 10);
  EXPECT_LT(above, 50);
}

TEST(Search, ProvesThatTheBoundIsOutOfReach) {
  std::mt19937 random(3);
  int none = 0;
  for (int round = 0; round < 50; ++round) {
    const std::vector<Interval> intervals = full_steps(random, 20, 16, 7, 7, false);
    const Problem problem = compress(intervals, all_of(intervals));
    Work work{1'000'000'000};
    const Outcome outcome = search(problem, problem.lower_bound, work).outcome;
    ASSERT_NE(outcome, Outcome::out_of_work);
    const Placement placement = place(intervals);
    verify(intervals, placement);
    EXPECT_EQ(placement.height > problem.lower_bound, outcome == Outcome::none);
    none += outcome == Outcome::none;
  }
  EXPECT_GT(none, 3);
  EXPECT_LT(none, 47);
}

TEST(Search, SolvesPackingsWithNothingToSpare) {
  std::mt19937 random(4);
  int solved = 0, greedy = 0;
  for (int round = 0; round < 40; ++round) {
    const std::vector<Interval> intervals = full_steps(random, 24, 16, 8, 6, true);
    greedy += place(intervals, {.seconds = 0}).height == 64 * 16;
    const Placement placement = place(intervals, {.seconds = 0.2});
    verify(intervals, placement);
    solved += placement.height == 64 * 16;
  }
  EXPECT_LT(greedy, 20);
  EXPECT_EQ(solved, 40);
}

TEST(Search, StopsWhenTheWorkIsSpent) {
  std::mt19937 random(5);
  const std::vector<Interval> intervals = full_steps(random, 200, 4000, 500, 40, true);
  const Problem problem = compress(intervals, all_of(intervals));
  Work work{3'000'000};
  EXPECT_EQ(search(problem, problem.lower_bound, work).outcome, Outcome::out_of_work);
  EXPECT_LE(work.left, 0);
}

}  // namespace
}  // namespace plait::plan
