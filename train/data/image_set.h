// Labelled pictures: a folder of PNG and JPEG files, CIFAR-10's binary files, MNIST's idx files;
// and the source that gives them to a classifier as `x` and `labels`.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/data/image.h"
#include "train/data/resample.h"
#include "train/data/source.h"

namespace plait::train {

struct ImageSet {
  std::string name;                                    // for messages
  std::vector<std::string> classes;                    // names; a label is an index into them
  std::vector<std::int64_t> labels;                    // one per picture
  std::function<Image(std::int64_t index)> image;      // may be called by several threads
  std::function<std::uint64_t()> fingerprint;          // of a folder it reads every picture
  std::function<std::uint64_t()> older_fingerprint{};  // see Source; empty: the same
  Normal normal;                                       // what is usual for these pictures
  std::string note{};  // for people: files that were left out; empty where there are none
};

/// How pictures of this kind of data (images, cifar10, mnist) are usually normalised; ImageNet's
/// for any other.
Normal usual_normal(std::string_view kind);

/// The classes are the folder's folders, sorted by name; pictures lie anywhere below them. Files
/// are read when they are asked for. UserError when a folder is missing or has no picture, or when
/// there are not at least two classes.
ImageSet image_folder(const std::string& folder);

/// Files of records of 3,073 bytes, or folders that hold data_batch_*.bin. UserError when there is
/// none or one is not such a file.
ImageSet cifar10(std::span<const std::string> paths);

/// A folder that holds PART-images-idx3-ubyte and PART-labels-idx1-ubyte, with PART `train` or
/// `t10k`, unpacked.
ImageSet mnist(const std::string& folder, const std::string& part = "train");

/// The test files that CIFAR-10 and MNIST come with, where they are beside the others.
bool has_cifar10_test(const std::string& folder);
bool has_mnist_test(const std::string& folder);
inline constexpr std::string_view kCifar10Test = "test_batch.bin";

class Pictures : public Source {
 public:
  /// Feeds must be a picture x and i64 labels; `classes` of the model may be more than the set's.
  /// UserError when they do not fit. An empty normal is the set's own.
  Pictures(std::shared_ptr<const ImageSet> set, std::span<const FeedType> feeds,
           std::int64_t classes, const Normal& normal = {});

  std::vector<FeedType> feeds() const override { return feeds_; }
  std::int64_t size() const override;
  void read(std::int64_t sample, std::int64_t row, Batch& into) const override;
  std::string describe() const override;
  std::uint64_t fingerprint() const override { return set_->fingerprint(); }
  std::uint64_t older_fingerprint() const override {
    return set_->older_fingerprint ? set_->older_fingerprint() : fingerprint();
  }

 private:
  std::shared_ptr<const ImageSet> set_;
  std::vector<FeedType> feeds_;
  PictureForm form_;
};

}  // namespace plait::train
