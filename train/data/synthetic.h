// Made-up samples for any model's feeds, for benchmarks and first tries. Targets depend on inputs,
// so that a loss falls; every sample depends on the seed and its number only, bit for bit on every
// machine.
#pragma once

#include "train/data/source.h"

namespace plait::train {

class Synthetic : public Source {
 public:
  /// `limit` is the model's vocabulary or number of classes. UserError when there is no sample or
  /// an integer feed has no limit.
  Synthetic(std::span<const FeedType> feeds, std::int64_t limit, std::int64_t samples,
            std::uint64_t seed);

  std::vector<FeedType> feeds() const override { return feeds_; }
  std::int64_t size() const override { return samples_; }
  std::int64_t tokens() const override;
  void read(std::int64_t sample, std::int64_t row, Batch& into) const override;
  std::string describe() const override;
  std::uint64_t fingerprint() const override;

 private:
  /// What a feed that other feeds are about holds.
  enum class Kind {
    kTokens,    // idx, targets: seven times of eight the next token is a function of the last
    kPictures,  // x, labels: a pattern of the class under noise
    kPixels,    // x [C,H,W], labels [H,W]: each cell of a grid has the colours of a class
    kFunction,  // x, t: t is a function of x
    kNoise,     // anything else
  };
  Kind kind_of() const;

  void read_tokens(std::int64_t sample, std::int64_t row, Batch& into) const;
  void read_pictures(std::int64_t sample, std::int64_t row, Batch& into) const;
  void read_pixels(std::int64_t sample, std::int64_t row, Batch& into) const;
  void read_function(std::int64_t sample, std::int64_t row, Batch& into) const;
  void read_noise(const FeedType& feed, std::int64_t sample, std::int64_t row, Batch& into) const;

  std::vector<FeedType> feeds_;
  std::int64_t limit_, samples_;
  std::uint64_t seed_;
  Kind kind_;
};

}  // namespace plait::train
