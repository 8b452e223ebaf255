// Parsing with a watch over what is opened.
#include "io/json.h"

#include <set>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace plait::io {
namespace {

constexpr std::size_t kMostShown = 40;

std::string clipped(const std::string& text) {
  return plait::quoted(text.substr(0, kMostShown)) + (text.size() > kMostShown ? "..." : "");
}

}  // namespace

Json parse_json(std::string_view text, std::string_view name, int most_depth) {
  const std::string subject = name.empty() ? "" : str(name, " ");
  const auto is_none = [&](std::size_t byte) {
    fail(subject, "is no JSON from byte ", byte, " on", byte > text.size() ? ", its end" : "");
  };
  std::vector<std::set<std::string>> open;  // the keys of each object that is not closed
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= most_depth) fail(subject, "is nested more than ", most_depth, " deep");
    if (event == Event::object_start) open.emplace_back();
    if (event == Event::object_end) open.pop_back();
    if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open.back().insert(key).second) fail(subject, "has ", clipped(key), " twice");
    }
    return true;
  };
  // The parser takes a NUL byte for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != text.npos) is_none(nul + 1);
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::parse_error& e) {
    is_none(e.byte);
  } catch (const Json::exception&) {
    fail(subject, "holds a number that does not fit");
  }
  throw Bug("JSON without an end");
}

std::string glimpse(const Json& json) {
  if (json.is_object()) return "an object";
  if (json.is_array()) return "a list";
  if (json.is_string()) return clipped(json.get_ref<const std::string&>());
  return json.dump();
}

std::string text_member(const Json& json, const char* key, std::string_view name) {
  if (!json.is_object()) fail(name, " is ", glimpse(json), ", not an object with ", quoted(key));
  const auto at = json.find(key);
  if (at == json.end()) fail(name, " has no ", quoted(key));
  if (!at->is_string()) fail(name, " has as ", quoted(key), " ", glimpse(*at), ", not a text");
  return at->get<std::string>();
}

}  // namespace plait::io
