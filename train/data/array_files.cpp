// Arrays of a folder as samples.
#include "train/data/array_files.h"

#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "io/file.h"
#include "io/npy.h"

namespace plait::train {
namespace {

/// `f32[samples,3,8]`
std::string wanted_text(const FeedType& feed) {
  std::vector<std::string> sizes{"samples"};
  for (const std::int64_t size : feed.sizes) sizes.push_back(std::to_string(size));
  return str(feed.dtype, "[", join(sizes, ","), "]");
}

Array read_feed(const std::string& path, const FeedType& feed) {
  Array array = io::read_npy(path);
  const bool same_kind = is_float(array.dtype()) == is_float(feed.dtype) &&
                         (array.dtype() == DType::boolean) == (feed.dtype == DType::boolean);
  const Sizes& sizes = array.sizes();
  const bool fits =
      same_kind && !sizes.empty() && Sizes(sizes.begin() + 1, sizes.end()) == feed.sizes;
  if (!fits)
    fail(path, ": ", type_text(array), "; the model's ", feed.name, " wants ", wanted_text(feed));
  return array.dtype() == feed.dtype ? std::move(array) : array.cast(feed.dtype);
}

}  // namespace

ArrayFiles::ArrayFiles(std::string folder, std::span<const FeedType> feeds)
    : folder_(std::move(folder)), feeds_(feeds.begin(), feeds.end()), fingerprint_(kFnv64) {
  for (const FeedType& feed : feeds_) {
    const std::string path = str(folder_, "/", io::file_name_for(feed.name), ".npy");
    arrays_.push_back(read_feed(path, feed));
    const Array& array = arrays_.back();
    if (arrays_.size() == 1) samples_ = array.sizes()[0];
    if (array.sizes()[0] != samples_) {
      fail(path, ": ", array.sizes()[0], " samples, ", feeds_[0].name, ".npy has ", samples_);
    }
    const std::string_view bytes(reinterpret_cast<const char*>(array.data()), array.byte_count());
    fingerprint_ = fnv1a64(bytes, fnv1a64(feed.name, fingerprint_));
  }
  if (samples_ < 1) fail(folder_, ": its arrays hold no sample");
}

void ArrayFiles::read(std::int64_t sample, std::int64_t row, Batch& into) const {
  check(sample >= 0 && sample < samples_, "sample ", sample, " of ", samples_);
  for (std::size_t i = 0; i < feeds_.size(); ++i) {
    const Array& from = arrays_[i];
    Array& to = into.feeds.at(feeds_[i].name);
    const std::size_t bytes = from.byte_count() / static_cast<std::size_t>(samples_);
    std::memcpy(to.data() + static_cast<std::size_t>(row) * bytes,
                from.data() + static_cast<std::size_t>(sample) * bytes, bytes);
  }
}

std::string ArrayFiles::describe() const {
  return str(folder_, ": ", with_commas(samples_), " samples of ", feeds_text(feeds_));
}

}  // namespace plait::train
