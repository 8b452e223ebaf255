// What all sources share: the shape of a batch, and a source without or with every k-th sample.
#include "train/data/source.h"

#include "base/convert.h"
#include "base/hash.h"
#include "base/text.h"

namespace plait::train {

std::vector<FeedType> feeds_of(const ir::Graph& graph) {
  std::vector<FeedType> feeds;
  for (const ir::ValueId id : graph.feeds) {
    const ir::Value& value = graph.value(id);
    if (value.type.rank() == 0) {
      fail("feed ", value.name, " of graph ", graph.name, " is a scalar: it has no batch");
    }
    FeedType feed{value.name, value.type.dtype, {}};
    for (int d = 1; d < value.type.rank(); ++d) {
      const Dim& dim = value.type.shape[static_cast<std::size_t>(d)];
      if (!dim.is_const()) {
        fail("feed ", value.name, " is ", value.type, ": data needs a number for every size but ",
             "the batch");
      }
      feed.sizes.push_back(dim.value());
    }
    feeds.push_back(std::move(feed));
  }
  return feeds;
}

std::string feeds_text(std::span<const FeedType> feeds) {
  std::vector<std::string> parts;
  for (const FeedType& feed : feeds) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : feed.sizes) sizes.push_back(std::to_string(size));
    parts.push_back(str(feed.name, " ", feed.dtype, "[", join(sizes, ","), "]"));
  }
  return join(parts, ", ");
}

const FeedType* find_feed(std::span<const FeedType> feeds, std::string_view name) {
  for (const FeedType& feed : feeds) {
    if (feed.name == name) return &feed;
  }
  return nullptr;
}

void Batch::shape(std::span<const FeedType> types, std::int64_t rows) {
  samples = rows;
  std::erase_if(feeds, [&](const auto& entry) { return !find_feed(types, entry.first); });
  for (const FeedType& type : types) {
    Sizes sizes{rows};
    sizes.insert(sizes.end(), type.sizes.begin(), type.sizes.end());
    Array& array = feeds[type.name];
    if (array.dtype() != type.dtype || array.sizes() != sizes) array = Array(type.dtype, sizes);
  }
}

void Batch::set_row(const std::string& feed, std::int64_t row_index,
                    std::span<const float> values) {
  visit_dtype(feeds.at(feed).dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<T> out = row<T>(feed, row_index);
    check(out.size() == values.size(), feed, " has ", out.size(), " elements, not ", values.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = convert<T>(values[i]);
  });
}

Part::Part(std::shared_ptr<const Source> whole, std::int64_t every, bool held_out)
    : whole_(std::move(whole)), every_(every), held_out_(held_out) {
  check(every_ >= 2, "every ", every_, "th sample is held out");
  check(whole_->stride() == 1, "windows are split by their text, not by their number");
  if (whole_->size() < every_) {
    fail(whole_->describe(), ": every ", every_, "th sample is for validation, but there are only ",
         whole_->size());
  }
}

std::int64_t Part::size() const {
  const std::int64_t held_out = whole_->size() / every_;
  return held_out_ ? held_out : whole_->size() - held_out;
}

void Part::read(std::int64_t sample, std::int64_t row, Batch& into) const {
  const std::int64_t original =
      held_out_ ? sample * every_ + every_ - 1 : sample + sample / (every_ - 1);
  whole_->read(original, row, into);
}

std::string Part::describe() const {
  return str(whole_->describe(), held_out_ ? ": every " : ": all but every ", every_,
             "th sample: ", with_commas(size()));
}

std::uint64_t Part::part_of(std::uint64_t fingerprint) const {
  return fnv1a64(str(fingerprint, " ", every_, " ", held_out_));
}

}  // namespace plait::train
