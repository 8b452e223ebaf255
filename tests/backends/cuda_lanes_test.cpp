// Steps laid on lanes: whoever meets in memory comes in the order of the program, by a lane's order
// and what is awaited alone; and what does not meet is not held back for nothing.
#include <gtest/gtest.h>

#include <random>

#include "backends/cuda/lanes.h"
#include "backends/cuda/pace.h"

namespace plait::cuda {
namespace {

bool meet(const std::vector<Touched::Range>& a, const std::vector<Touched::Range>& b) {
  for (const auto& x : a) {
    for (const auto& y : b) {
      if (x.first < y.second && y.first < x.second) return true;
    }
  }
  return false;
}

bool meet(const Touched& a, const Touched& b) {
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

/// before[i][j]: step j is over when step i begins.
std::vector<std::vector<bool>> before(const std::vector<LaneStep>& laned) {
  std::vector<std::vector<bool>> out(laned.size(), std::vector<bool>(laned.size()));
  const auto behind = [&](std::size_t i, std::size_t j) {
    out[i][j] = true;
    for (std::size_t k = 0; k < j; ++k) {
      if (out[j][k]) out[i][k] = true;
    }
  };
  for (std::size_t i = 0; i < laned.size(); ++i) {
    for (std::size_t j = i; j-- > 0;) {
      if (laned[j].lane != laned[i].lane) continue;
      behind(i, j);
      break;
    }
    for (const std::size_t j : laned[i].awaits) {
      EXPECT_LT(j, i);
      EXPECT_NE(laned[j].lane, laned[i].lane);
      EXPECT_TRUE(laned[j].awaited);
      behind(i, j);
    }
  }
  return out;
}

std::vector<Touched> random_steps(std::mt19937& draw, int count) {
  const auto below = [&](int n) { return static_cast<int>(draw() % static_cast<unsigned>(n)); };
  std::vector<Touched> steps;
  for (int i = 0; i < count; ++i) {
    Touched t;
    const auto add = [&](std::vector<Touched::Range>& to, int most) {
      for (int n = below(most + 1); n > 0; --n) {
        const auto begin = static_cast<std::uintptr_t>(below(200));
        to.emplace_back(begin, begin + 1 + static_cast<std::uintptr_t>(below(20)));
      }
    };
    add(t.reads, 3);
    add(t.writes, 2);
    t.first_only = below(5) == 0;
    t.seconds = 1 + below(10);
    steps.push_back(std::move(t));
  }
  return steps;
}

TEST(CudaLanes, WhoMeetsKeepsTheOrder) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 draw(seed);
    const int lanes = 1 + static_cast<int>(seed % 4);
    const std::vector<Touched> steps = random_steps(draw, 40);
    const std::vector<LaneStep> laned = lay_on_lanes(steps, lanes);
    ASSERT_EQ(laned.size(), steps.size());
    const auto order = before(laned);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      ASSERT_LT(laned[i].lane, lanes);
      if (steps[i].first_only) {
        EXPECT_EQ(laned[i].lane, 0);
      }
      for (std::size_t j = 0; j < i; ++j) {
        ASSERT_TRUE(!meet(steps[i], steps[j]) || order[i][j]) << seed << ": " << j << ", " << i;
      }
    }
  }
}

TEST(CudaLanes, AChainStaysOnItsLaneAndASideStepGoesBeside) {
  // 0 writes a; 1 reads a, writes b; 2 reads a alone; 3 reads b.
  std::vector<Touched> steps(4);
  steps[0].writes = {{0, 8}};
  steps[1].reads = {{0, 8}};
  steps[1].writes = {{8, 16}};
  steps[2].reads = {{0, 8}};
  steps[2].writes = {{16, 24}};
  steps[3].reads = {{8, 16}};
  for (Touched& t : steps) t.seconds = 1;
  const std::vector<LaneStep> laned = lay_on_lanes(steps, 2);
  EXPECT_EQ(laned[0].lane, laned[1].lane);
  EXPECT_NE(laned[2].lane, laned[1].lane);
  EXPECT_EQ(laned[2].awaits, (std::vector<std::size_t>{0}));
  EXPECT_EQ(laned[3].lane, laned[1].lane);
  EXPECT_TRUE(laned[3].awaits.empty());
}

TEST(CudaLanes, WhatReadsTheSameIsNotHeldBack) {
  std::vector<Touched> steps(3);
  for (std::size_t i = 0; i < 3; ++i) {
    steps[i].reads = {{0, 100}};
    steps[i].writes = {{100 + 10 * i, 110 + 10 * i}};
    steps[i].seconds = 1;
  }
  const std::vector<LaneStep> laned = lay_on_lanes(steps, 3);
  for (const LaneStep& s : laned) EXPECT_TRUE(s.awaits.empty() && !s.awaited);
  EXPECT_NE(laned[0].lane, laned[1].lane);
  EXPECT_NE(laned[1].lane, laned[2].lane);
}

/// Runs of each way, in turn, until it is decided; which way it is.
Pace::Way raced(Pace& pace, const std::vector<double>& laned, const std::vector<double>& in_order) {
  std::size_t ran[2] = {0, 0};
  while (!pace.decided()) {
    const Pace::Way way = pace.way();
    EXPECT_EQ(way, (ran[0] + ran[1]) % 2 == 0 ? Pace::kLaned : Pace::kInOrder);
    pace.took((way == Pace::kLaned ? laned : in_order).at(ran[way]++));
  }
  EXPECT_EQ(ran[0], ran[1]);
  return pace.way();
}

TEST(CudaPace, TheFastestRunOfEachWayCounts) {
  Pace first, second, same;
  EXPECT_EQ(raced(first, {9, 5, 9, 9}, {6, 6, 6, 6}), Pace::kLaned);
  EXPECT_EQ(raced(second, {7, 7, 7, 7}, {90, 90, 90, 6}), Pace::kInOrder);
  EXPECT_EQ(raced(same, {7, 7, 7, 7}, {7, 7, 7, 7}), Pace::kLaned);
}

TEST(CudaPace, NewAddressesStartItOverUntilItIsDecided) {
  Pace pace;
  pace.took(1);
  pace.start_over();
  EXPECT_EQ(raced(pace, {7, 7, 7, 7}, {6, 6, 6, 6}), Pace::kInOrder);
  pace.start_over();
  EXPECT_TRUE(pace.decided());
  EXPECT_EQ(pace.way(), Pace::kInOrder);
}

}  // namespace
}  // namespace plait::cuda
