// A long row of token ids in memory, stored as narrowly as they allow, and the files it is read
// from: .npy of any integer type, or raw little-endian u16.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace plait::train {

class Tokens {
 public:
  /// Room for ids below `vocab`, 1 <= vocab <= 2^32.
  explicit Tokens(std::int64_t vocab = 256);

  std::int64_t size() const;
  /// Every id is below it.
  std::int64_t vocab() const { return vocab_; }
  void reserve(std::int64_t count);
  void push_back(std::int64_t id);
  /// Ids of one byte each; only where vocab() is at most 256.
  void append_bytes(std::string_view bytes);
  void append(const Tokens& other);

  /// Ids begin, begin + 1, ... into `out`.
  void copy(std::int64_t begin, std::span<std::int64_t> out) const;
  std::int64_t at(std::int64_t index) const;
  /// The first position whose id is `limit` or more; size() when there is none.
  std::int64_t first_at_least(std::int64_t limit) const;
  std::uint64_t hash(std::int64_t begin, std::int64_t end) const;

 private:
  std::int64_t vocab_;
  std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::uint32_t>>
      ids_;
};

/// The files one after the other; vocab is the largest id and one. UserError names file and
/// position.
Tokens read_tokens(std::span<const std::string> paths);

}  // namespace plait::train
