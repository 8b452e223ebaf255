// JSON as a tree that keeps the order of keys. Reading bounds depth and size and refuses a key that
// comes twice; writing lays out as MegEngine does, so that what was read comes back as it was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace plait::io::megengine {

struct Member;

struct Json {
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value;

  // Defined behind Member, which they need whole.
  Json();  // null
  Json(bool x);
  Json(int x);
  Json(std::int64_t x);
  Json(double x);
  Json(const char* x);
  Json(std::string x);
  Json(Array x);
  Json(Object x);

  bool is_null() const { return value.index() == 0; }
  template <class T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
  /// The member of this key; null when this is no object or has none.
  const Json* find(std::string_view key) const;
  bool operator==(const Json& other) const;
};

struct Member {
  std::string key;
  Json value;
  bool operator==(const Member& other) const;
};

inline Json::Json() = default;
inline Json::Json(bool x) : value(x) {}
inline Json::Json(int x) : value(std::int64_t{x}) {}
inline Json::Json(std::int64_t x) : value(x) {}
inline Json::Json(double x) : value(x) {}
inline Json::Json(const char* x) : value(std::string(x)) {}
inline Json::Json(std::string x) : value(std::move(x)) {}
inline Json::Json(Array x) : value(std::move(x)) {}
inline Json::Json(Object x) : value(std::move(x)) {}

inline constexpr int kMaxDepth = 64;
inline constexpr std::int64_t kMaxValues = 8'000'000;  // in one document

/// UserError `FILE:LINE:COLUMN: what` where it is no JSON; `FILE: path: what` where it is too deep,
/// too large, or says a key twice.
Json parse_json(std::string_view text, const std::string& file);

/// On one line: `{ "a": 1, "b": [ 2, 3]}`.
void append_json(std::string& out, const Json& json);
std::string json_text(const Json& json);

/// What kind of value this is, for messages: `the text "abc"`, `a list of 3`, `null`.
std::string glimpse(const Json& json);
/// `text` in quotes, cut where it is long.
std::string clipped(std::string_view text);

}  // namespace plait::io::megengine
