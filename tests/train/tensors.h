// Random tensors and states for checkpoints, the same for the same seed.
#pragma once

#include <cstring>

#include "base/philox.h"
#include "train/checkpoint.h"

namespace plait::test {

/// Small random numbers by a counter.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : key_{seed, 0, 7} {}
  std::uint64_t bits() {
    const Philox p = random_bits(key_, next_++);
    return static_cast<std::uint64_t>(p[0]) << 32 | p[1];
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n));
  }

 private:
  RandomKey key_;
  std::uint64_t next_ = 0;
};

/// Any bits, NaNs among them; booleans 0 or 1.
inline Array random_array(Draws& draws) {
  const auto dtype = static_cast<DType>(draws.below(kDTypeCount));
  Sizes sizes;
  for (std::int64_t rank = draws.below(4); rank > 0; --rank) sizes.push_back(draws.below(6));
  Array array(dtype, sizes);
  for (std::byte& b : std::span(array.data(), array.byte_count())) {
    const auto bits = static_cast<unsigned char>(draws.bits());
    b = std::byte(dtype == DType::boolean ? bits & 1 : bits);
  }
  return array;
}

inline train::Checkpoint random_checkpoint(std::uint64_t seed) {
  Draws draws(seed);
  train::Checkpoint c;
  for (auto n = draws.below(6); n > 0; --n) {
    c.weights.emplace(str("blocks.", n, ".att.key"), random_array(draws));
  }
  for (auto n = draws.below(8); n > 0; --n) {
    c.others.emplace(str("adam.m.", n), random_array(draws));
  }
  const auto real = [&] {  // any bits that are not NaN: those do not equal themselves
    double value;
    do {
      const std::uint64_t bits = draws.bits();
      std::memcpy(&value, &bits, 8);
    } while (value != value);
    return value;
  };
  c.state = {.step = draws.below(1'000'000'000'000),
             .seed = draws.bits(),
             .epoch = draws.below(100),
             .index = draws.below(1'000'000),
             .samples = draws.below(1'000'000),
             .tokens = draws.below(1'000'000),
             .loss_scale = real(),
             .good_steps = draws.below(2000),
             .loss_sum = real(),
             .loss_weight = real(),
             .elapsed_seconds = real(),
             .config_hash = str(draws.bits()),
             .more = {{"k", str("\xc3\xa9\n\"", draws.below(9))}}};
  return c;
}

inline bool same(const train::Tensors& a, const train::Tensors& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, array] : a) {
    const auto other = b.find(name);
    if (other == b.end() || !array.same_bits(other->second)) return false;
  }
  return true;
}

inline bool same(const train::Checkpoint& a, const train::Checkpoint& b) {
  return a.state == b.state && same(a.weights, b.weights) && same(a.others, b.others);
}

}  // namespace plait::test
