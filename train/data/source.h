// Where samples come from: random access to the rows of a batch. What a source reads is fixed when
// it is made; which samples come in which order is the sampler's, when they are read the loader's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/array.h"
#include "ir/graph.h"

namespace plait::train {

/// A feed of a model, without its batch dimension: `idx`, i64[context].
struct FeedType {
  std::string name;
  DType dtype = DType::f32;
  Sizes sizes;
  bool operator==(const FeedType&) const = default;
};

/// The feeds of a graph; UserError where one has no leading dimension or another size is unknown.
std::vector<FeedType> feeds_of(const ir::Graph& graph);
/// `idx i64[64], targets i64[64]`
std::string feeds_text(std::span<const FeedType> feeds);
/// Null when there is none of that name.
const FeedType* find_feed(std::span<const FeedType> feeds, std::string_view name);

struct Batch {
  std::map<std::string, Array> feeds;  // [samples, ...]
  std::int64_t samples = 0;
  std::int64_t tokens = 0;  // 0 where samples are not made of tokens

  /// Gives every feed its array, keeping those that have the right type already.
  void shape(std::span<const FeedType> types, std::int64_t rows);
  /// Row `row` of a feed whose elements are stored as T.
  template <class T>
  std::span<T> row(const std::string& feed, std::int64_t row) {
    return row_of(feeds.at(feed).as<T>(), row);
  }
  /// Converts `values` to the feed's dtype.
  void set_row(const std::string& feed, std::int64_t row, std::span<const float> values);

 private:
  template <class T>
  std::span<T> row_of(std::span<T> all, std::int64_t row) const {
    check(row >= 0 && row < samples, "row ", row, " of a batch of ", samples);
    const std::size_t width = all.size() / static_cast<std::size_t>(samples);
    return all.subspan(static_cast<std::size_t>(row) * width, width);
  }
};

/// Of any source: sizes and positions can be multiplied by a few without an overflow.
constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;

/// Constant after construction; read() may be called by several threads.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::vector<FeedType> feeds() const = 0;
  /// Samples that can be asked for, at least 1, at most kMostSamples.
  virtual std::int64_t size() const = 0;
  /// An epoch takes every stride-th sample, from a start that changes with the epoch: windows into
  /// a text may begin anywhere, but an epoch shows each token once.
  virtual std::int64_t stride() const { return 1; }
  /// Tokens in a sample; 0 where it is not made of tokens.
  virtual std::int64_t tokens() const { return 0; }
  /// Writes sample `sample` into row `row` of every feed.
  virtual void read(std::int64_t sample, std::int64_t row, Batch& into) const = 0;
  /// One line for people.
  virtual std::string describe() const = 0;
  /// Differs when the samples do: a checkpoint's position belongs to this data only. May read all
  /// of them.
  virtual std::uint64_t fingerprint() const = 0;
  /// What stands in checkpoints of versions that looked at less of the samples.
  virtual std::uint64_t older_fingerprint() const { return fingerprint(); }
};

/// Every k-th sample of `whole`, or all the others.
class Part : public Source {
 public:
  Part(std::shared_ptr<const Source> whole, std::int64_t every, bool held_out);
  std::vector<FeedType> feeds() const override { return whole_->feeds(); }
  std::int64_t size() const override;
  std::int64_t tokens() const override { return whole_->tokens(); }
  void read(std::int64_t sample, std::int64_t row, Batch& into) const override;
  std::string describe() const override;
  std::uint64_t fingerprint() const override { return part_of(whole_->fingerprint()); }
  std::uint64_t older_fingerprint() const override { return part_of(whole_->older_fingerprint()); }

 private:
  std::uint64_t part_of(std::uint64_t fingerprint) const;
  std::shared_ptr<const Source> whole_;
  std::int64_t every_;
  bool held_out_;
};

}  // namespace plait::train
