// The order of samples: a permutation per epoch, drawn from (seed, epoch) and computed where it is
// asked for. Its whole state is a position, so a checkpoint stores two numbers.
#pragma once

#include <cstdint>

#include "train/data/source.h"

namespace plait::train {

/// The next sample to come: `index` of the epoch's epoch_length().
struct Position {
  std::int64_t epoch = 0;
  std::int64_t index = 0;
  bool operator==(const Position&) const = default;
};

enum class Order {
  kShuffled,    // for training
  kSequential,  // for validation: every epoch the same, from the first sample on
};

class Sampler {
 public:
  /// `size` and `stride` as the source says them.
  Sampler(std::int64_t size, std::int64_t stride, std::uint64_t seed,
          Order order = Order::kShuffled);
  Sampler(const Source& source, std::uint64_t seed, Order order = Order::kShuffled)
      : Sampler(source.size(), source.stride(), seed, order) {}

  std::int64_t epoch_length() const { return length_; }
  Position position() const { return position_; }
  /// UserError when no epoch has such a position: the data is not what it was.
  void seek(Position position);

  /// The sample at a position; next() gives the one at position() and steps on.
  std::int64_t at(Position position) const;
  std::int64_t next();

 private:
  std::int64_t permuted(std::int64_t index, std::int64_t epoch) const;
  std::int64_t offset(std::int64_t epoch) const;

  std::int64_t size_, stride_;
  std::uint64_t seed_;
  Order order_;
  std::int64_t length_;
  std::int64_t columns_, rows_;  // the smallest near-square that holds an epoch
  Position position_;
};

/// Fills `into` with the sampler's next `rows` samples.
void read_batch(const Source& source, Sampler& sampler, std::int64_t rows, Batch& into);

}  // namespace plait::train
