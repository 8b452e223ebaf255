// Made-up samples. Only integers and sums and products of floats: no function of a library that
// another machine rounds otherwise.
#include "train/data/synthetic.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"
#include "base/text.h"

namespace plait::train {
namespace {

constexpr std::int64_t kBands = 64;    // of a class's pattern, along a picture's elements
constexpr std::int64_t kGrid = 4;      // cells of a picture of pixels, each way
constexpr std::uint32_t kOdds = 8;     // one token of so many is a surprise
constexpr float kSpread = 1.7320508f;  // makes the deviation of uniform numbers 1

std::int64_t elements_of(const FeedType& feed) {
  std::int64_t count = 1;
  for (const std::int64_t size : feed.sizes) count *= size;
  return count;
}

RandomKey key_of(std::uint64_t seed, std::int64_t sample, std::string_view what) {
  return {seed, static_cast<std::uint64_t>(sample), fnv1a32(what)};
}

std::int64_t below(std::int64_t limit, std::uint32_t high, std::uint32_t low) {
  const std::uint64_t wide = static_cast<std::uint64_t>(high) << 32 | low;
  return static_cast<std::int64_t>(wide % static_cast<std::uint64_t>(limit));
}

float uniform(std::uint32_t bits) {
  return (static_cast<float>(bits >> 8) * 0x1p-23f - 1.0f) * kSpread;
}

/// Uniform numbers of mean 0 and deviation 1.
std::vector<float> noise(const RandomKey& key, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const Philox bits = random_bits(key, i / 4);
    for (std::size_t k = 0; k < 4 && i + k < values.size(); ++k) values[i + k] = uniform(bits[k]);
  }
  return values;
}

}  // namespace

Synthetic::Synthetic(std::span<const FeedType> feeds, std::int64_t limit, std::int64_t samples,
                     std::uint64_t seed)
    : feeds_(feeds.begin(), feeds.end()), limit_(limit), samples_(samples), seed_(seed) {
  if (samples_ < 1 || samples_ > kMostSamples) {
    fail("synthetic data of ", samples_, " samples; from 1 to ", kMostSamples, " are possible");
  }
  for (const FeedType& feed : feeds_) {
    const bool needs_limit = !is_float(feed.dtype);
    if (needs_limit && feed.dtype != DType::i64) {
      fail("synthetic data has no ", feed.dtype, " for the feed ", feeds_text({&feed, 1}));
    }
    if (needs_limit && limit_ < 1) {
      fail("synthetic data: the feed ", feeds_text({&feed, 1}), " needs a vocabulary or classes");
    }
  }
  kind_ = kind_of();
}

Synthetic::Kind Synthetic::kind_of() const {
  const FeedType *x = find_feed(feeds_, "x"), *t = find_feed(feeds_, "t");
  const FeedType *idx = find_feed(feeds_, "idx"), *targets = find_feed(feeds_, "targets");
  const FeedType* labels = find_feed(feeds_, "labels");
  if (feeds_.size() != 2) return Kind::kNoise;
  if (idx && targets && idx->dtype == DType::i64 && targets->dtype == DType::i64 &&
      idx->sizes.size() == 1 && idx->sizes == targets->sizes) {
    return Kind::kTokens;
  }
  if (!x || !is_float(x->dtype)) return Kind::kNoise;
  if (labels && labels->dtype == DType::i64) {
    if (labels->sizes.empty()) return Kind::kPictures;
    const Sizes& s = x->sizes;
    if (s.size() == 3 && labels->sizes == Sizes{s[1], s[2]}) return Kind::kPixels;
  }
  if (t && is_float(t->dtype) && t->sizes == x->sizes) return Kind::kFunction;
  return Kind::kNoise;
}

std::int64_t Synthetic::tokens() const {
  return kind_ == Kind::kTokens ? elements_of(*find_feed(feeds_, "idx")) : 0;
}

void Synthetic::read(std::int64_t sample, std::int64_t row, Batch& into) const {
  check(sample >= 0 && sample < samples_, "sample ", sample, " of ", samples_);
  switch (kind_) {
    case Kind::kTokens:
      return read_tokens(sample, row, into);
    case Kind::kPictures:
      return read_pictures(sample, row, into);
    case Kind::kPixels:
      return read_pixels(sample, row, into);
    case Kind::kFunction:
      return read_function(sample, row, into);
    case Kind::kNoise:
      for (const FeedType& feed : feeds_) read_noise(feed, sample, row, into);
      return;
  }
}

void Synthetic::read_tokens(std::int64_t sample, std::int64_t row, Batch& into) const {
  const std::span<std::int64_t> idx = into.row<std::int64_t>("idx", row);
  const std::span<std::int64_t> targets = into.row<std::int64_t>("targets", row);
  const RandomKey key = key_of(seed_, sample, "synthetic.tokens");
  const RandomKey follower = key_of(seed_, 0, "synthetic.follower");
  std::int64_t token = 0;
  for (std::size_t i = 0; i <= idx.size(); ++i) {
    const Philox bits = random_bits(key, i);
    if (i == 0 || bits[2] % kOdds == 0) {
      token = below(limit_, bits[0], bits[1]);
    } else {
      const Philox next = random_bits(follower, static_cast<std::uint64_t>(token));
      token = below(limit_, next[0], next[1]);
    }
    if (i < idx.size()) idx[i] = token;
    if (i > 0) targets[i - 1] = token;
  }
}

void Synthetic::read_pictures(std::int64_t sample, std::int64_t row, Batch& into) const {
  const Philox bits = random_bits(key_of(seed_, sample, "synthetic.label"), 0);
  const std::int64_t label = below(limit_, bits[0], bits[1]);
  into.row<std::int64_t>("labels", row)[0] = label;
  const std::int64_t count = elements_of(*find_feed(feeds_, "x"));
  std::vector<float> x = noise(key_of(seed_, sample, "synthetic.x"), count);
  const std::vector<float> pattern = noise(key_of(seed_, label, "synthetic.pattern"), kBands);
  for (std::int64_t i = 0; i < count; ++i) {
    float& value = x[static_cast<std::size_t>(i)];
    value = 0.5f * value + pattern[static_cast<std::size_t>(i * kBands / count)];
  }
  into.set_row("x", row, x);
}

void Synthetic::read_pixels(std::int64_t sample, std::int64_t row, Batch& into) const {
  const Sizes& sizes = find_feed(feeds_, "x")->sizes;  // [channels, height, width]
  const std::int64_t channels = sizes[0], height = sizes[1], width = sizes[2];
  std::vector<float> x = noise(key_of(seed_, sample, "synthetic.x"), channels * height * width);
  const std::vector<float> colours =  // [limit, channels]
      noise(key_of(seed_, 0, "synthetic.colour"), limit_ * channels);
  const RandomKey key = key_of(seed_, sample, "synthetic.label");
  const std::span<std::int64_t> labels = into.row<std::int64_t>("labels", row);
  for (std::int64_t at = 0; at < height * width; ++at) {
    const std::int64_t y = at / width, cell_y = y * kGrid / height;
    const std::int64_t cell_x = (at - y * width) * kGrid / width;
    const Philox bits = random_bits(key, static_cast<std::uint64_t>(cell_y * kGrid + cell_x));
    const std::int64_t label = below(limit_, bits[0], bits[1]);
    labels[static_cast<std::size_t>(at)] = label;
    for (std::int64_t c = 0; c < channels; ++c) {
      float& value = x[static_cast<std::size_t>(c * height * width + at)];
      value = 0.5f * value + colours[static_cast<std::size_t>(label * channels + c)];
    }
  }
  into.set_row("x", row, x);
}

void Synthetic::read_function(std::int64_t sample, std::int64_t row, Batch& into) const {
  const std::int64_t count = elements_of(*find_feed(feeds_, "x"));
  const std::vector<float> x = noise(key_of(seed_, sample, "synthetic.x"), count);
  std::vector<float> t(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    t[i] = 0.5f * x[i] + std::max(0.0f, x[(i + 1) % x.size()]);
  }
  into.set_row("x", row, x);
  into.set_row("t", row, t);
}

void Synthetic::read_noise(const FeedType& feed, std::int64_t sample, std::int64_t row,
                           Batch& into) const {
  const RandomKey key = key_of(seed_, sample, feed.name);
  if (is_float(feed.dtype)) return into.set_row(feed.name, row, noise(key, elements_of(feed)));
  const std::span<std::int64_t> values = into.row<std::int64_t>(feed.name, row);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Philox bits = random_bits(key, i);
    values[i] = below(limit_, bits[0], bits[1]);
  }
}

std::string Synthetic::describe() const {
  return str("synthetic, ", with_commas(samples_), " samples, seed ", seed_);
}

std::uint64_t Synthetic::fingerprint() const {
  return fnv1a64(str(feeds_text(feeds_), " ", limit_, " ", samples_, " ", seed_));
}

}  // namespace plait::train
