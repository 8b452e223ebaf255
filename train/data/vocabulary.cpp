// Vocabularies of bytes and of characters.
#include "train/data/vocabulary.h"

#include "base/error.h"
#include "base/text.h"
#include "io/json.h"
#include "train/data/utf8.h"

namespace plait::train {

Unit unit_named(std::string_view name) {
  if (name == "byte") return Unit::kByte;
  if (name == "char") return Unit::kChar;
  fail("unit is ", quoted(name), "; byte and char are known.", suggestion(name, {"byte", "char"}));
}

Vocabulary Vocabulary::characters(std::span<const Text> texts) {
  std::vector<bool> seen(kCodePoints, false);
  for (const Text& text : texts) {
    for_each_code_point(text.bytes, text.path,
                        [&](std::uint32_t code, std::size_t) { seen[code] = true; });
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t code = 0; code < kCodePoints; ++code) {
    if (seen[code]) found.push_back(code);
  }
  check(!found.empty(), "a vocabulary of empty texts");
  return Vocabulary(Unit::kChar, std::move(found));
}

std::int64_t Vocabulary::size() const {
  return unit_ == Unit::kByte ? 256 : static_cast<std::int64_t>(characters_.size());
}

std::vector<std::int64_t> Vocabulary::ids_by_character() const {
  if (unit_ == Unit::kByte) return {};
  std::vector<std::int64_t> id_of(characters_.back() + std::size_t{1}, -1);
  for (std::size_t id = 0; id < characters_.size(); ++id) {
    id_of[characters_[id]] = static_cast<std::int64_t>(id);
  }
  return id_of;
}

Tokens Vocabulary::encode(std::string_view text, std::string_view name) const {
  Tokens tokens(size());
  encode(text, name, ids_by_character(), tokens);
  return tokens;
}

Tokens Vocabulary::encode(std::span<const Text> texts) const {
  Tokens tokens(size());
  const std::vector<std::int64_t> id_of = ids_by_character();
  for (const Text& text : texts) encode(text.bytes, text.path, id_of, tokens);
  return tokens;
}

void Vocabulary::encode(std::string_view text, std::string_view name,
                        const std::vector<std::int64_t>& id_of, Tokens& into) const {
  if (unit_ == Unit::kByte) return into.append_bytes(text);
  for_each_code_point(text, name, [&](std::uint32_t code, std::size_t at) {
    const std::int64_t id = code < id_of.size() ? id_of[code] : -1;
    if (id < 0) {
      std::string character;
      append_utf8(character, code);
      fail(name, ": ", quoted(character), " at byte ", with_commas(static_cast<std::int64_t>(at)),
           " is none of the ", with_commas(size()), " characters of the training text");
    }
    into.push_back(id);
  });
}

std::string Vocabulary::decode(std::int64_t id) const {
  if (id < 0 || id >= size()) fail("token ", id, " of a vocabulary of ", size());
  if (unit_ == Unit::kByte) return std::string(1, static_cast<char>(id));
  std::string out;
  append_utf8(out, characters_[static_cast<std::size_t>(id)]);
  return out;
}

std::string Vocabulary::json() const {
  io::Json out;
  out["unit"] = unit_ == Unit::kByte ? "byte" : "char";
  if (unit_ == Unit::kChar) {
    std::string all;
    for (const std::uint32_t code : characters_) append_utf8(all, code);
    out["characters"] = all;
  }
  return out.dump(2) + "\n";
}

Vocabulary Vocabulary::from_json(std::string_view json, std::string_view name) {
  const io::Json in = io::parse_json(json, name);
  const std::string unit = io::text_member(in, "unit", name);
  if (unit == "byte") return bytes();
  if (unit != "char")
    fail(name, " has as \"unit\" ", plait::quoted(unit), "; byte and char are known");
  const std::string characters = io::text_member(in, "characters", name);
  std::vector<std::uint32_t> found;
  for_each_code_point(characters, name, [&](std::uint32_t code, std::size_t at) {
    if (!found.empty() && code <= found.back()) {
      fail(name, ": \"characters\" are not in ascending order at byte ", at);
    }
    found.push_back(code);
  });
  if (found.empty()) fail(name, ": a vocabulary without characters");
  return Vocabulary(Unit::kChar, std::move(found));
}

}  // namespace plait::train
