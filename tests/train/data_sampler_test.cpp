// The order of samples: each once an epoch, by (seed, epoch) alone, resumed anywhere.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "tests/raises.h"
#include "train/data/sampler.h"

namespace plait::train {
namespace {

std::vector<std::int64_t> epoch_of(const Sampler& sampler, std::int64_t epoch) {
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < sampler.epoch_length(); ++i) {
    samples.push_back(sampler.at({epoch, i}));
  }
  return samples;
}

TEST(Sampler, AnEpochIsAPermutation) {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 10, 16, 17, 99, 100, 101, 1000, 4097}) {
    const Sampler sampler(size, 1, 7);
    for (const std::int64_t epoch : {0, 1, 12345}) {
      const std::vector<std::int64_t> samples = epoch_of(sampler, epoch);
      const std::set<std::int64_t> distinct(samples.begin(), samples.end());
      EXPECT_EQ(distinct.size(), static_cast<std::size_t>(size)) << size;
      EXPECT_EQ(*distinct.begin(), 0);
      EXPECT_EQ(*distinct.rbegin(), size - 1);
    }
  }
}

TEST(Sampler, AsManySamplesAsThereMayBe) {
  const Sampler sampler(kMostSamples, 1, 7);
  EXPECT_EQ(sampler.epoch_length(), kMostSamples);
  std::set<std::int64_t> distinct;
  for (std::int64_t i = 0; i < 1000; ++i) {
    for (const std::int64_t index : {i, kMostSamples - 1 - i}) {
      const std::int64_t sample = sampler.at({0, index});
      EXPECT_TRUE(sample >= 0 && sample < kMostSamples) << sample;
      distinct.insert(sample);
    }
  }
  EXPECT_EQ(distinct.size(), 2000u);
  EXPECT_THROW(Sampler(kMostSamples + 1, 1, 7), Bug);
}

TEST(Sampler, SeedAndEpochChangeTheOrder) {
  const std::vector<std::int64_t> first = epoch_of(Sampler(500, 1, 1), 0);
  EXPECT_EQ(first, epoch_of(Sampler(500, 1, 1), 0));
  EXPECT_NE(first, epoch_of(Sampler(500, 1, 2), 0));
  EXPECT_NE(first, epoch_of(Sampler(500, 1, 1), 1));
  EXPECT_NE(first, epoch_of(Sampler(500, 1, std::uint64_t{1} << 32 | 1), 0));
}

TEST(Sampler, NeighboursAreSpread) {
  // For a random permutation of n the mean distance of two neighbours is n / 3, with a deviation of
  // about 0.24 n / sqrt(n) for the mean; 10 of them either way.
  constexpr std::int64_t kSize = 10000;
  const std::vector<std::int64_t> samples = epoch_of(Sampler(kSize, 1, 3), 0);
  double sum = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    sum += static_cast<double>(std::abs(samples[i] - samples[i - 1]));
  }
  EXPECT_NEAR(sum / (kSize - 1), kSize / 3.0, 10 * 0.24 * 100);
}

TEST(Sampler, ASmallSetComesInManyOrders) {
  std::set<std::vector<std::int64_t>> orders;
  const Sampler sampler(4, 1, 0);
  for (std::int64_t epoch = 0; epoch < 400; ++epoch) orders.insert(epoch_of(sampler, epoch));
  EXPECT_EQ(orders.size(), 24u);
}

TEST(Sampler, WindowsDoNotOverlapAndBeginElsewhereEachEpoch) {
  constexpr std::int64_t kSize = 1005, kStride = 64;  // 15 windows, 45 + 64 places to begin at
  const Sampler sampler(kSize, kStride, 5);
  EXPECT_EQ(sampler.epoch_length(), 15);
  std::set<std::int64_t> offsets;
  for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
    const std::vector<std::int64_t> samples = epoch_of(sampler, epoch);
    const std::set<std::int64_t> sorted(samples.begin(), samples.end());
    offsets.insert(*sorted.begin());
    EXPECT_EQ(sorted.size(), 15u);
    EXPECT_LT(*sorted.rbegin(), kSize);
    std::int64_t expected = *sorted.begin();
    for (const std::int64_t sample : sorted) {
      EXPECT_EQ(sample, expected);
      expected += kStride;
    }
  }
  EXPECT_GT(offsets.size(), 60u);
  EXPECT_GE(*offsets.begin(), 0);
  EXPECT_LT(*offsets.rbegin(), 109);
}

TEST(Sampler, FewerPlacesThanAStride) {
  const Sampler sampler(3, 64, 0);
  EXPECT_EQ(sampler.epoch_length(), 1);
  std::set<std::int64_t> starts;
  for (std::int64_t epoch = 0; epoch < 100; ++epoch) starts.insert(sampler.at({epoch, 0}));
  EXPECT_EQ(starts, (std::set<std::int64_t>{0, 1, 2}));
}

TEST(Sampler, SequentialIsTheSameEveryEpoch) {
  const Sampler sampler(200, 64, 9, Order::kSequential);
  EXPECT_EQ(epoch_of(sampler, 0), (std::vector<std::int64_t>{0, 64, 128}));
  EXPECT_EQ(epoch_of(sampler, 5), (std::vector<std::int64_t>{0, 64, 128}));
}

TEST(Sampler, GoesOnWhereItIsSet) {
  Sampler one(37, 1, 4);
  for (int i = 0; i < 50; ++i) one.next();
  EXPECT_EQ(one.position(), (Position{1, 13}));
  Sampler other(37, 1, 4);
  other.seek(one.position());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.next(), other.next());
}

TEST(Sampler, AnEndedEpochIsTheNextOnesBeginning) {
  Sampler sampler(3, 1, 0);
  for (int i = 0; i < 3; ++i) sampler.next();
  EXPECT_EQ(sampler.position(), (Position{1, 0}));
}

TEST(Sampler, APositionOfOtherDataIsAnError) {
  Sampler sampler(100, 10, 0);
  EXPECT_EQ(test::message_of([&] {
              sampler.seek({2, 10});
            }),
            "data position epoch 2, sample 10: an epoch of this data has 10 samples. Has the data "
            "changed since the position was saved?");
  EXPECT_THROW(sampler.seek({0, -1}), UserError);
  EXPECT_THROW(sampler.seek({-1, 0}), UserError);
  EXPECT_EQ(sampler.position(), Position{});
}

}  // namespace
}  // namespace plait::train
