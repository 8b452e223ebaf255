// Wanting a kind of value, and saying what stands there instead.
#include "io/megengine/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "io/import.h"

namespace plait::io::megengine {
namespace {

constexpr std::size_t kMaxRank = 16;

}  // namespace

std::string At::path() const {
  if (!up_) return "";
  const std::string before = up_->path();
  if (index_ >= 0) return str(before, "[", index_, "]");
  return before + (before.empty() ? "" : ".") + std::string(key_.substr(0, 60));
}

At At::at(std::string_view key) const& {
  object();
  const Json* json = json_->find(key);
  if (!json) fail("has no ", quoted(key), ". Was it cut out of the document?");
  return At(*json, *this, key);
}

std::optional<At> At::find(std::string_view key) const& {
  object();
  const Json* json = json_->find(key);
  if (!json) return std::nullopt;
  return At(*json, *this, key);
}

At At::item(std::size_t i) const& {
  At out(list()[i], *this, "");
  out.index_ = static_cast<std::int64_t>(i);
  return out;
}

At At::member(std::size_t i) const& {
  const Member& m = object()[i];
  return At(m.value, *this, m.key);
}

void At::expected(std::string_view what) const {
  fail("expected ", what, ", is ", glimpse(*json_));
}

const Json::Object& At::object() const {
  const auto* object = json_->as<Json::Object>();
  if (!object) expected("an object");
  return *object;
}

const Json::Array& At::list() const {
  const auto* list = json_->as<Json::Array>();
  if (!list) expected("a list");
  return *list;
}

const std::string& At::text() const {
  const auto* text = json_->as<std::string>();
  if (!text) expected("a text");
  return *text;
}

std::int64_t At::integer() const {
  const auto* number = json_->as<std::int64_t>();
  if (!number) expected("a whole number");
  return *number;
}

std::int64_t At::count(std::int64_t most) const {
  const std::int64_t n = integer();
  if (n < 0) fail("is ", n, ", must not be negative");
  if (n > most) fail("is ", n, ", more than the ", most, " that can be");
  return n;
}

double At::real() const {
  if (const auto* number = json_->as<std::int64_t>()) return static_cast<double>(*number);
  const auto* number = json_->as<double>();
  if (!number) expected("a number");
  if (!std::isfinite(*number)) fail("is ", *number, ", no finite number");
  return *number;
}

Sizes At::sizes() const {
  if (list().size() > kMaxRank) fail("has ", list().size(), " sizes, more than ", kMaxRank);
  Sizes out;
  for (std::size_t i = 0; i < list().size(); ++i) out.push_back(item(i).integer());
  if (const std::string why = why_bad_sizes(out); !why.empty()) fail(why);
  if (element_count(out) > kMostBytes) {
    fail("sizes ", shape_text(out), " are more elements than any device holds");
  }
  return out;
}

Id At::id() const {
  const std::optional<Id> id = id_of(text());
  if (!id) fail("expected an id (digits in quotes), is ", glimpse(*json_));
  return *id;
}

std::optional<Id> id_of(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  if (text.empty() || text.size() > kMostDigits || (text[0] == '0' && text.size() > 1)) {
    return std::nullopt;
  }
  Id id = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    id = id * 10 + (c - '0');
  }
  return id;
}

Others others_of(const At& object, std::initializer_list<std::string_view> known) {
  Others out;
  for (const Member& m : object.object()) {
    if (std::find(known.begin(), known.end(), m.key) == known.end()) out.push_back(m);
  }
  return out;
}

}  // namespace plait::io::megengine
