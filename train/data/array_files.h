// Samples of any kind: a folder with one .npy per feed of the model, whose rows belong together.
#pragma once

#include "train/data/source.h"

namespace plait::train {

class ArrayFiles : public Source {
 public:
  /// Reads FOLDER/FEED.npy for each feed: [samples, the feed's sizes], floats for floats and whole
  /// numbers for whole numbers. UserError naming the file when one is missing or does not fit.
  ArrayFiles(std::string folder, std::span<const FeedType> feeds);

  std::vector<FeedType> feeds() const override { return feeds_; }
  std::int64_t size() const override { return samples_; }
  void read(std::int64_t sample, std::int64_t row, Batch& into) const override;
  std::string describe() const override;
  std::uint64_t fingerprint() const override { return fingerprint_; }

 private:
  std::string folder_;
  std::vector<FeedType> feeds_;
  std::vector<Array> arrays_;  // of the feeds, in their order and dtypes
  std::int64_t samples_ = 0;
  std::uint64_t fingerprint_;
};

}  // namespace plait::train
