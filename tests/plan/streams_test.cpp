// Steps laid on streams: whoever meets in memory comes in the order of the program, by a stream's
// order and by waits alone; and what does not meet is not held back for nothing.
#include <gtest/gtest.h>

#include <random>

#include "backends/cuda/stream_tuner.h"
#include "plan/order/streams.h"

namespace plait::plan {
namespace {

using cuda::StreamTuner;

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
std::vector<std::vector<bool>> before(const std::vector<StreamStep>& laid) {
  std::vector<std::vector<bool>> out(laid.size(), std::vector<bool>(laid.size()));
  const auto behind = [&](std::size_t i, std::size_t j) {
    out[i][j] = true;
    for (std::size_t k = 0; k < j; ++k) {
      if (out[j][k]) out[i][k] = true;
    }
  };
  for (std::size_t i = 0; i < laid.size(); ++i) {
    for (std::size_t j = i; j-- > 0;) {
      if (laid[j].stream != laid[i].stream) continue;
      behind(i, j);
      break;
    }
    for (const program::StepId id : laid[i].waits) {
      const std::size_t j = id.index();
      EXPECT_LT(j, i);
      EXPECT_NE(laid[j].stream, laid[i].stream);
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
        const auto begin = static_cast<std::int64_t>(below(200));
        to.emplace_back(begin, begin + 1 + static_cast<std::int64_t>(below(20)));
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

TEST(Streams, WhoMeetsKeepsTheOrder) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 draw(seed);
    const int streams = 1 + static_cast<int>(seed % 4);
    const std::vector<Touched> steps = random_steps(draw, 40);
    const std::vector<StreamStep> laid = lay_on_streams(steps, streams);
    ASSERT_EQ(laid.size(), steps.size());
    const auto order = before(laid);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      ASSERT_LT(laid[i].stream, streams);
      if (steps[i].first_only) {
        EXPECT_EQ(laid[i].stream, 0);
      }
      for (std::size_t j = 0; j < i; ++j) {
        ASSERT_TRUE(!meet(steps[i], steps[j]) || order[i][j]) << seed << ": " << j << ", " << i;
      }
    }
  }
}

TEST(Streams, AChainStaysOnItsStreamAndASideStepGoesBeside) {
  // 0 writes a; 1 reads a, writes b; 2 reads a alone; 3 reads b.
  std::vector<Touched> steps(4);
  steps[0].writes = {{0, 8}};
  steps[1].reads = {{0, 8}};
  steps[1].writes = {{8, 16}};
  steps[2].reads = {{0, 8}};
  steps[2].writes = {{16, 24}};
  steps[3].reads = {{8, 16}};
  for (Touched& t : steps) t.seconds = 1;
  const std::vector<StreamStep> laid = lay_on_streams(steps, 2);
  EXPECT_EQ(laid[0].stream, laid[1].stream);
  EXPECT_NE(laid[2].stream, laid[1].stream);
  EXPECT_EQ(laid[2].waits, (std::vector<program::StepId>{program::StepId(0)}));
  EXPECT_EQ(laid[3].stream, laid[1].stream);
  EXPECT_TRUE(laid[3].waits.empty());
}

TEST(Streams, WhatReadsTheSameIsNotHeldBack) {
  std::vector<Touched> steps(3);
  for (std::size_t i = 0; i < 3; ++i) {
    steps[i].reads = {{0, 100}};
    steps[i].writes = {{100 + 10 * i, 110 + 10 * i}};
    steps[i].seconds = 1;
  }
  const std::vector<StreamStep> laid = lay_on_streams(steps, 3);
  for (const StreamStep& s : laid) EXPECT_TRUE(s.waits.empty());
  EXPECT_NE(laid[0].stream, laid[1].stream);
  EXPECT_NE(laid[1].stream, laid[2].stream);
}

/// Runs of each way, in turn, until it is decided; which way it is.
StreamTuner::Way raced(StreamTuner& tuner, const std::vector<double>& beside,
                       const std::vector<double>& in_order) {
  std::size_t ran[2] = {0, 0};
  while (!tuner.decided()) {
    const StreamTuner::Way way = tuner.way();
    EXPECT_EQ(way, (ran[0] + ran[1]) % 2 == 0 ? StreamTuner::kStreams : StreamTuner::kInOrder);
    tuner.took((way == StreamTuner::kStreams ? beside : in_order).at(ran[way]++));
  }
  EXPECT_EQ(ran[0], ran[1]);
  return tuner.way();
}

TEST(CudaStreamTuner, TheFastestRunOfEachWayCounts) {
  StreamTuner first, second, same;
  EXPECT_EQ(raced(first, {9, 5, 9, 9}, {6, 6, 6, 6}), StreamTuner::kStreams);
  EXPECT_EQ(raced(second, {7, 7, 7, 7}, {90, 90, 90, 6}), StreamTuner::kInOrder);
  EXPECT_EQ(raced(same, {7, 7, 7, 7}, {7, 7, 7, 7}), StreamTuner::kStreams);
}

TEST(CudaStreamTuner, NewAddressesStartItOverUntilItIsDecided) {
  StreamTuner tuner;
  tuner.took(1);
  tuner.start_over();
  EXPECT_EQ(raced(tuner, {7, 7, 7, 7}, {6, 6, 6, 6}), StreamTuner::kInOrder);
  tuner.start_over();
  EXPECT_TRUE(tuner.decided());
  EXPECT_EQ(tuner.way(), StreamTuner::kInOrder);
}

}  // namespace
}  // namespace plait::plan
