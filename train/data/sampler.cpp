// A permutation without a table: an index is a cell of a near-square of columns x rows; rounds add
// to its column a random number drawn from its row, and to its row one drawn from its column. Each
// round can be undone, so cells are permuted; one outside the epoch is sent through again.
#include "train/data/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"

namespace plait::train {
namespace {

constexpr std::uint32_t kOrderStream = fnv1a32("train.data.order");
constexpr std::uint32_t kOffsetStream = fnv1a32("train.data.offset");
constexpr std::uint32_t kRounds = 4;

/// A number below `bound`, from 64 bits: for bounds of any data its unevenness is not measurable.
std::int64_t draw(const RandomKey& key, std::int64_t element, std::int64_t bound) {
  const Philox bits = random_bits(key, static_cast<std::uint64_t>(element));
  const std::uint64_t wide = (static_cast<std::uint64_t>(bits[0]) << 32) | bits[1];
  return static_cast<std::int64_t>(wide % static_cast<std::uint64_t>(bound));
}

/// The smallest number whose square is at least n, which is at most kMostSamples.
std::int64_t root_above(std::int64_t n) {
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (root * root < n) ++root;
  return root;
}

}  // namespace

Sampler::Sampler(std::int64_t size, std::int64_t stride, std::uint64_t seed, Order order)
    : size_(size), stride_(stride), seed_(seed), order_(order) {
  check(size >= 1 && size <= kMostSamples && stride >= 1, "a source of ", size,
        " samples with stride ", stride);
  length_ = std::max<std::int64_t>(1, size_ / stride_);
  columns_ = root_above(length_);
  rows_ = (length_ + columns_ - 1) / columns_;
}

void Sampler::seek(Position p) {
  if (p.epoch < 0 || p.index < 0 || p.index >= length_) {
    fail("data position epoch ", p.epoch, ", sample ", p.index, ": an epoch of this data has ",
         length_, " samples. Has the data changed since the position was saved?");
  }
  position_ = p;
}

std::int64_t Sampler::at(Position p) const {
  check(p.epoch >= 0 && p.index >= 0 && p.index < length_, "sample ", p.index, " of ", length_);
  if (order_ == Order::kSequential) return p.index * stride_;
  return offset(p.epoch) + permuted(p.index, p.epoch) * stride_;
}

std::int64_t Sampler::next() {
  const std::int64_t sample = at(position_);
  if (++position_.index == length_) position_ = {position_.epoch + 1, 0};
  return sample;
}

std::int64_t Sampler::permuted(std::int64_t index, std::int64_t epoch) const {
  RandomKey key{seed_, static_cast<std::uint64_t>(epoch), kOrderStream};
  std::int64_t cell = index;
  do {
    std::int64_t column = cell % columns_, row = cell / columns_;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      key.stream = kOrderStream + 2 * round;
      column = (column + draw(key, row, columns_)) % columns_;
      ++key.stream;
      row = (row + draw(key, column, rows_)) % rows_;
    }
    cell = row * columns_ + column;
  } while (cell >= length_);
  return cell;
}

std::int64_t Sampler::offset(std::int64_t epoch) const {
  const std::int64_t room = size_ - (length_ - 1) * stride_;
  if (stride_ == 1) return 0;
  return draw({seed_, static_cast<std::uint64_t>(epoch), kOffsetStream}, 0, room);
}

void read_batch(const Source& source, Sampler& sampler, std::int64_t rows, Batch& into) {
  into.shape(source.feeds(), rows);
  into.tokens = rows * source.tokens();
  for (std::int64_t row = 0; row < rows; ++row) source.read(sampler.next(), row, into);
}

}  // namespace plait::train
