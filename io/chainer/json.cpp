// The attributes of a function: JSON text to typed members and back.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "io/chainer/record.h"
#include "io/json.h"

namespace plait::io::chainer {
namespace {

Value value_of(const Json& json) {
  if (json.is_boolean()) return {json.get<bool>()};
  if (json.is_number_integer()) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > most) return {json.get<double>()};
    return {json.get<std::int64_t>()};
  }
  if (json.is_number()) return {json.get<double>()};
  if (json.is_string()) return {json.get<std::string>()};
  if (json.is_array()) {
    std::vector<Value> items;
    for (const Json& item : json) items.push_back(value_of(item));
    return {std::move(items)};
  }
  if (!json.is_object()) return {};
  Members members;
  for (const auto& [name, value] : json.items()) members.push_back({name, value_of(value)});
  return {std::move(members)};
}

/// A string as json.dumps writes it; bytes that are not UTF-8 become the replacement character.
std::string string_text(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace

const Value* find(const Members& members, std::string_view name) {
  for (const Member& m : members) {
    if (m.name == name) return &m.value;
  }
  return nullptr;
}

Members parse_members(std::string_view json) {
  const Json parsed = parse_json(json, "");
  if (!parsed.is_object()) fail("is no JSON object");
  return std::get<Members>(value_of(parsed).data);
}

std::string json_text(const Value& value) {
  struct Writer {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return std::to_string(n); }
    std::string operator()(double x) const { return real_text(x); }
    std::string operator()(const std::string& s) const { return string_text(s); }
    std::string operator()(const std::vector<Value>& items) const {
      std::vector<std::string> parts;
      for (const Value& item : items) parts.push_back(json_text(item));
      return "[" + join(parts, ", ") + "]";
    }
    std::string operator()(const Members& members) const { return json_text(members); }
  };
  return std::visit(Writer{}, value.data);
}

std::string json_text(const Members& members) {
  std::vector<std::string> parts;
  for (const Member& m : members) parts.push_back(string_text(m.name) + ": " + json_text(m.value));
  return "{" + join(parts, ", ") + "}";
}

}  // namespace plait::io::chainer
