// Batches ahead: the same whatever depth, threads and timing; errors in their place; no hanging.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "base/philox.h"
#include "tests/raises.h"
#include "train/data/loader.h"

namespace plait::train {
namespace {

/// Sample i is the number i, after a while that differs from sample to sample; `bad` fails.
class Counting : public Source {
 public:
  explicit Counting(std::int64_t size, std::int64_t bad = -1, int delay_us = 0)
      : size_(size), bad_(bad), delay_us_(delay_us) {}
  std::vector<FeedType> feeds() const override { return {{"x", DType::i64, {}}}; }
  std::int64_t size() const override { return size_; }
  std::int64_t tokens() const override { return 3; }
  void read(std::int64_t sample, std::int64_t row, Batch& into) const override {
    if (delay_us_ > 0) {
      const auto draw = random_bits({}, static_cast<std::uint64_t>(reads))[0];
      std::this_thread::sleep_for(
          std::chrono::microseconds(draw % static_cast<unsigned>(delay_us_)));
    }
    ++reads;
    if (sample == bad_) fail("sample ", sample, " is bad");
    into.row<std::int64_t>("x", row)[0] = sample;
  }
  std::string describe() const override { return "counting"; }
  std::uint64_t fingerprint() const override { return 0; }
  mutable std::atomic<int> reads{0};

 private:
  std::int64_t size_, bad_;
  int delay_us_;
};

struct Seen {
  std::vector<std::int64_t> samples;
  std::vector<Position> after;
  bool operator==(const Seen&) const = default;
};

Seen take(Loader& loader, int batches) {
  Seen seen;
  Batch batch;
  for (int i = 0; i < batches; ++i) {
    seen.after.push_back(loader.next(batch));
    for (const std::int64_t sample : batch.feeds.at("x").as<std::int64_t>()) {
      seen.samples.push_back(sample);
    }
  }
  return seen;
}

Seen taken(LoaderOptions options, int batches, Position from = {}) {
  auto source = std::make_shared<Counting>(23, -1, 300);
  Sampler sampler(*source, 11);
  sampler.seek(from);
  Loader loader(source, sampler, options);
  return take(loader, batches);
}

TEST(Loader, DepthAndThreadsChangeNothing) {
  const Seen expected = taken({.batch = 5, .prefetch = 0}, 30);
  EXPECT_EQ(expected.samples.size(), 150u);
  EXPECT_EQ(expected.after.back(), (Position{6, 12}));
  for (const int prefetch : {1, 2, 7}) {
    for (const int threads : {1, 3}) {
      EXPECT_EQ(expected, taken({.batch = 5, .prefetch = prefetch, .threads = threads}, 30))
          << prefetch << " " << threads;
    }
  }
}

TEST(Loader, APositionGivesTheRest) {
  const Seen whole = taken({.batch = 4}, 20);
  for (const int stop : {1, 7, 19}) {
    const Seen rest =
        taken({.batch = 4}, 20 - stop, whole.after[static_cast<std::size_t>(stop - 1)]);
    EXPECT_TRUE(std::equal(rest.samples.begin(), rest.samples.end(),
                           whole.samples.begin() + 4 * stop, whole.samples.end()));
  }
}

TEST(Loader, BatchesSayTheirSize) {
  Loader loader(std::make_shared<Counting>(10), Sampler(10, 1, 0), {.batch = 4});
  Batch batch;
  loader.next(batch);
  EXPECT_EQ(batch.samples, 4);
  EXPECT_EQ(batch.tokens, 12);
  EXPECT_EQ(type_text(batch.feeds.at("x")), "i64[4]");
}

TEST(Loader, AnArrayIsUsedAgain) {
  Loader loader(std::make_shared<Counting>(100), Sampler(100, 1, 0), {.batch = 2, .prefetch = 2});
  Batch batch;
  std::set<const std::byte*> arrays;
  for (int i = 0; i < 50; ++i) {
    loader.next(batch);
    arrays.insert(batch.feeds.at("x").data());
  }
  EXPECT_LE(arrays.size(), 4u);  // the caller's, two ahead, and one on its way back
}

TEST(Loader, AnErrorComesInItsPlaceAndStays) {
  for (const int prefetch : {0, 1, 4}) {
    auto source = std::make_shared<Counting>(10, 7);
    Loader loader(source, Sampler(10, 1, 0, Order::kSequential),
                  {.batch = 3, .prefetch = prefetch});
    EXPECT_EQ(take(loader, 2).samples, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
    Batch batch;
    for (int again = 0; again < 3; ++again) {
      EXPECT_EQ(test::message_of([&] { loader.next(batch); }), "sample 7 is bad");
    }
  }
}

TEST(Loader, ReadsNoFurtherAheadThanAsked) {
  auto source = std::make_shared<Counting>(100);
  Loader loader(source, Sampler(100, 1, 0), {.batch = 2, .prefetch = 3, .threads = 2});
  Batch batch;
  loader.next(batch);
  while (source->reads < 8) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(source->reads, 8);
}

TEST(Loader, EndsAtAnyMoment) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 30; ++i) {
    // 1000 samples of up to 2 ms: only between samples can it end in time.
    auto source = std::make_shared<Counting>(1000, -1, 2000);
    Loader loader(source, Sampler(*source, 0), {.batch = 1000, .prefetch = 2, .threads = 2});
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(i / 2));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Loader, EndsWithAnErrorUntaken) {
  auto source = std::make_shared<Counting>(2, 0);
  Loader loader(source, Sampler(*source, 0), {.batch = 2, .prefetch = 2, .threads = 2});
  while (source->reads == 0) std::this_thread::yield();
}

TEST(Loader, WrongOptions) {
  auto source = std::make_shared<Counting>(2);
  const auto with = [&](LoaderOptions options) {
    return test::message_of([&] { Loader(source, Sampler(*source, 0), options); });
  };
  EXPECT_EQ(with({.batch = 0}), "a batch of 0 samples; at least 1 is needed");
  EXPECT_EQ(with({.prefetch = -1}), "prefetch of -1 batches; at least 0");
  EXPECT_EQ(with({.threads = 0}), "0 threads to read data; at least 1 is needed");
}

TEST(Batch, KeepsWhatFits) {
  Batch batch;
  const FeedType x{"x", DType::f16, {2}}, y{"y", DType::i64, {}};
  batch.shape(std::vector{x, y}, 3);
  const std::byte* before = batch.feeds.at("x").data();
  batch.set_row("x", 2, std::vector<float>{0.5f, -2.0f});
  EXPECT_EQ(batch.feeds.at("x").real(4), 0.5);
  EXPECT_EQ(batch.feeds.at("x").real(5), -2.0);
  batch.shape(std::vector{x}, 3);
  EXPECT_EQ(batch.feeds.at("x").data(), before);
  EXPECT_EQ(batch.feeds.size(), 1u);
  batch.shape(std::vector{x}, 4);
  EXPECT_EQ(type_text(batch.feeds.at("x")), "f16[4,2]");
}

TEST(Part, EveryThirdAndTheOthers) {
  auto whole = std::make_shared<Counting>(11);
  const auto samples = [](const Source& source) {
    Sampler sampler(source, 0, Order::kSequential);
    Batch batch;
    read_batch(source, sampler, source.size(), batch);
    const auto values = batch.feeds.at("x").as<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  EXPECT_EQ(samples(Part(whole, 3, true)), (std::vector<std::int64_t>{2, 5, 8}));
  EXPECT_EQ(samples(Part(whole, 3, false)), (std::vector<std::int64_t>{0, 1, 3, 4, 6, 7, 9, 10}));
  EXPECT_NE(Part(whole, 3, true).fingerprint(), Part(whole, 3, false).fingerprint());
  EXPECT_EQ(test::message_of([&] { Part(whole, 12, true); }),
            "counting: every 12th sample is for validation, but there are only 11");
}

}  // namespace
}  // namespace plait::train
