// Made-up data: for every model's feeds, the same everywhere, and with something to learn in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/hash.h"
#include "models/registry.h"
#include "tests/raises.h"
#include "train/data/data.h"
#include "train/data/loader.h"
#include "train/data/synthetic.h"

namespace plait::train {
namespace {

using test::message_of;

Batch batch_of(const Source& source, std::int64_t rows) {
  Sampler sampler(source, 1, Order::kSequential);
  Batch batch;
  read_batch(source, sampler, rows, batch);
  return batch;
}

TEST(Synthetic, FeedsEveryModel) {
  for (const char* spec : {"mlp?train=1", "conv_add?train=1&image=6&channels=4&filters=4",
                           "resnet50?train=1&batch=2&image=32&width=4&classes=7",
                           "vgg19?train=1&batch=2&image=32&width=4&hidden=8&classes=7",
                           "rwkv4?train=1&layers=1&width=8&context=8&vocab=7&copy=0&batch=2",
                           "gpt2?train=1&layers=1&width=8&heads=2&context=8&vocab=7&batch=2",
                           "unet?train=1&batch=2&image=16&width=4&classes=7"}) {
    const ir::Package package = models::build(spec);
    const std::vector<FeedType> feeds = feeds_of(package.graphs[0]);
    ASSERT_EQ(feeds.size(), 2u) << spec;
    const Data data({.kind = "synthetic", .samples = 100, .seed = 3});
    EXPECT_EQ(data.limit(), 0);
    const Sources sources = data.sources(feeds, 7);
    Batch batch = batch_of(*sources.train, 2);
    for (const FeedType& feed : feeds) {
      const Array& array = batch.feeds.at(feed.name);
      EXPECT_EQ(array.dtype(), feed.dtype) << spec;
      bool varies = false;
      for (std::int64_t i = 0; i < array.count(); ++i) {
        EXPECT_LT(std::abs(array.real(i)), feed.dtype == DType::i64 ? 7 : 4) << spec;
        varies = varies || array.real(i) != array.real(0);
      }
      EXPECT_TRUE(varies) << spec << " " << feed.name;
    }
  }
}

TEST(Synthetic, IsTheSameBitForBitOnEveryMachine) {
  const std::vector<FeedType> feeds{{"x", DType::f32, {3, 5, 7}}, {"labels", DType::i64, {}}};
  Batch batch = batch_of(Synthetic(feeds, 10, 50, 4), 8);
  const Array &x = batch.feeds.at("x"), &labels = batch.feeds.at("labels");
  const std::uint64_t hash = fnv1a64(std::span(labels.data(), labels.byte_count()),
                                     fnv1a64(std::span(x.data(), x.byte_count())));
  EXPECT_EQ(hash, 9826720841174195834u);
}

TEST(Synthetic, SamplesDependOnSeedAndNumber) {
  const std::vector<FeedType> feeds{{"x", DType::f32, {8}}, {"t", DType::f32, {8}}};
  Batch one = batch_of(Synthetic(feeds, 0, 50, 4), 4);
  Batch same = batch_of(Synthetic(feeds, 0, 9, 4), 2);
  Batch other = batch_of(Synthetic(feeds, 0, 50, 5), 4);
  EXPECT_TRUE(std::ranges::equal(one.row<float>("x", 1), same.row<float>("x", 1)));
  EXPECT_FALSE(std::ranges::equal(one.row<float>("x", 1), other.row<float>("x", 1)));
  EXPECT_FALSE(std::ranges::equal(one.row<float>("x", 1), one.row<float>("x", 2)));
  EXPECT_NE(Synthetic(feeds, 0, 50, 4).fingerprint(), Synthetic(feeds, 0, 50, 5).fingerprint());
}

TEST(Synthetic, TheNextTokenCanBeLearned) {
  const std::vector<FeedType> feeds{{"idx", DType::i64, {64}}, {"targets", DType::i64, {64}}};
  const Synthetic source(feeds, 20, 200, 1);
  EXPECT_EQ(source.tokens(), 64);
  Batch batch = batch_of(source, 200);
  std::map<std::int64_t, std::map<std::int64_t, int>> follows;
  int pairs = 0;
  for (int r = 0; r < 200; ++r) {
    const auto idx = batch.row<std::int64_t>("idx", r),
               targets = batch.row<std::int64_t>("targets", r);
    for (std::size_t i = 0; i < 64; ++i, ++pairs) {
      EXPECT_EQ(i == 0 ? idx[0] : targets[i - 1], idx[i]);
      ++follows[idx[i]][targets[i]];
    }
  }
  int guessed = 0;
  for (const auto& [token, next] : follows) {
    int best = 0;
    for (const auto& [id, count] : next) best = std::max(best, count);
    guessed += best;
  }
  EXPECT_NEAR(static_cast<double>(guessed) / pairs, 7.0 / 8 + 1.0 / 8 / 20, 0.02);
}

TEST(Synthetic, AClassHasItsPattern) {
  // The nearest mean of a class over half of the samples names the other half.
  const std::vector<FeedType> feeds{{"x", DType::f32, {3, 8, 8}}, {"labels", DType::i64, {}}};
  Batch batch = batch_of(Synthetic(feeds, 5, 400, 2), 400);
  std::vector<std::vector<double>> means(5, std::vector<double>(192));
  std::vector<int> counts(5);
  const auto label = [&](int r) {
    return static_cast<std::size_t>(batch.row<std::int64_t>("labels", r)[0]);
  };
  for (int r = 0; r < 200; ++r) {
    ++counts[label(r)];
    for (std::size_t i = 0; i < 192; ++i) means[label(r)][i] += batch.row<float>("x", r)[i];
  }
  int right = 0;
  for (int r = 200; r < 400; ++r) {
    std::size_t best = 0;
    double least = 1e30;
    for (std::size_t c = 0; c < 5; ++c) {
      double distance = 0;
      for (std::size_t i = 0; i < 192; ++i) {
        distance += std::pow(batch.row<float>("x", r)[i] - means[c][i] / counts[c], 2);
      }
      if (distance < least) least = distance, best = c;
    }
    right += best == label(r);
  }
  EXPECT_EQ(right, 200);
}

TEST(Synthetic, WhatItCannotMake) {
  const std::vector<FeedType> tokens{{"idx", DType::i64, {4}}};
  EXPECT_EQ(message_of([&] { Synthetic(tokens, 0, 10, 0); }),
            "synthetic data: the feed idx i64[4] needs a vocabulary or classes");
  EXPECT_EQ(message_of([&] { Synthetic(tokens, 5, 0, 0); }),
            "synthetic data of 0 samples; from 1 to 1099511627776 are possible");
  const Data data({.kind = "synthetic", .validation = 0.6});
  EXPECT_EQ(
      message_of([&] { data.sources(tokens, 5); }),
      "a validation share of 0.6; for data of kind synthetic it is every k-th sample, at most "
      "0.5");
  const std::vector<FeedType> flags{{"on", DType::boolean, {4}}};
  EXPECT_EQ(message_of([&] { Synthetic(flags, 5, 1, 0); }),
            "synthetic data has no bool for the feed on bool[4]");
}

TEST(FeedsOf, NeedsABatchAndNumbers) {
  ir::Graph graph;
  graph.add_feed("x", {DType::f32, {Dim::symbol("batch", 1, 8), Dim(3)}});
  EXPECT_EQ(feeds_of(graph), (std::vector<FeedType>{{"x", DType::f32, {3}}}));
  ir::Graph scalar;
  scalar.add_feed("lr", {DType::f32, {}});
  EXPECT_EQ(message_of([&] { feeds_of(scalar); }),
            "feed lr of graph graph is a scalar: it has no batch");
  ir::Graph open;
  open.add_feed("x", {DType::f32, {Dim(2), Dim::symbol("time", 1, 8)}});
  EXPECT_EQ(message_of([&] { feeds_of(open); }),
            "feed x is f32[2,time]: data needs a number for every size but the batch");
}

}  // namespace
}  // namespace plait::train
