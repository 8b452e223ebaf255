// A place in a JSON document: the value and the way to it, so that every mistake says where.
#pragma once

#include <initializer_list>
#include <optional>

#include "base/error.h"
#include "base/shape.h"
#include "io/megengine/json.h"
#include "io/megengine/record.h"

namespace plait::io::megengine {

/// Points to the place it came from, which must outlive it.
class At {
 public:
  At(const Json& json, const std::string& file) : json_(&json), file_(&file) {}

  const Json& json() const { return *json_; }
  bool is_null() const { return json_->is_null(); }
  std::string path() const;

  /// The member `key`; UserError when it is not there.
  At at(std::string_view key) const&;
  At at(std::string_view key) const&& = delete;
  std::optional<At> find(std::string_view key) const&;
  std::optional<At> find(std::string_view key) const&& = delete;
  At item(std::size_t i) const&;    // of a list
  At member(std::size_t i) const&;  // of an object, in its order

  // As what is wanted; UserError says what stands there instead.
  const Json::Object& object() const;
  const Json::Array& list() const;
  const std::string& text() const;
  std::int64_t integer() const;
  /// In [0, most].
  std::int64_t count(std::int64_t most) const;
  double real() const;  // finite
  Sizes sizes() const;  // of a tensor
  Id id() const;        // a text of digits

  /// UserError `FILE: path: parts`.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    const std::string where = path();
    plait::fail(*file_, ": ", where, where.empty() ? "" : ": ", parts...);
  }

 private:
  At(const Json& json, const At& up, std::string_view key) : At(json, *up.file_) {
    up_ = &up;
    key_ = key;
  }
  [[noreturn]] void expected(std::string_view what) const;

  const Json* json_;
  const std::string* file_;
  const At* up_ = nullptr;
  std::string_view key_;
  std::int64_t index_ = -1;  // in a list
};

/// The text as an id: digits without a leading zero; nothing when it is none.
std::optional<Id> id_of(std::string_view text);

/// The members that are none of `known`, as they stand.
Others others_of(const At& object, std::initializer_list<std::string_view> known);

/// Most bytes that a document may say of one thing: a million of them still sum up in 64 bits.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 42;

}  // namespace plait::io::megengine
