// What the ids of a text model mean: bytes, or the characters of the text it was trained on. Kept
// with a run as JSON, so that what it writes can be read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/data/text_files.h"
#include "train/data/tokens.h"

namespace plait::train {

enum class Unit { kByte, kChar };

/// `byte` or `char`; UserError with the nearest of them otherwise.
Unit unit_named(std::string_view name);

class Vocabulary {
 public:
  /// All 256 bytes.
  static Vocabulary bytes() { return Vocabulary(Unit::kByte, {}); }
  /// The distinct code points of the texts, in ascending order.
  static Vocabulary characters(std::span<const Text> texts);

  Unit unit() const { return unit_; }
  std::int64_t size() const;

  /// UserError names a character that is not in the vocabulary, and its byte offset.
  Tokens encode(std::string_view text, std::string_view name) const;
  Tokens encode(std::span<const Text> texts) const;
  /// The bytes of one id; ids of several bytes of one character are put together by appending.
  std::string decode(std::int64_t id) const;

  /// {"unit": "char", "characters": "\n !\"#..."}
  std::string json() const;
  static Vocabulary from_json(std::string_view json, std::string_view name);
  bool operator==(const Vocabulary&) const = default;

 private:
  Vocabulary(Unit unit, std::vector<std::uint32_t> characters)
      : unit_(unit), characters_(std::move(characters)) {}
  void encode(std::string_view text, std::string_view name, const std::vector<std::int64_t>& id_of,
              Tokens& into) const;
  /// By code point; -1 for those that are not in it.
  std::vector<std::int64_t> ids_by_character() const;

  Unit unit_;
  std::vector<std::uint32_t> characters_;  // ascending; empty for bytes
};

}  // namespace plait::train
