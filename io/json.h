// JSON that anybody may have written: read within bounds, its members by type. Every file of JSON
// but MegEngine's profiles, which have a tree of their own, is read through here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace plait::io {

using Json = nlohmann::ordered_json;

/// How deep lists and objects may lie within each other. What walks over them calls itself at each:
/// a file could overflow the stack.
constexpr int kMostJsonDepth = 32;

/// UserError, of which `name` is the subject (`state.json is no JSON from byte 7 on`), where the
/// text is none, is nested more than `most_depth` deep, holds a number that does not fit, or has a
/// key twice in one object.
Json parse_json(std::string_view text, std::string_view name, int most_depth = kMostJsonDepth);

/// What stands there, as an error shows it: the text of a number, the beginning of a string.
std::string glimpse(const Json& json);

/// The text under `key`. UserError, of which `name` is the subject, where `json` is no object, or
/// has no such key, or something else there.
std::string text_member(const Json& json, const char* key, std::string_view name);

}  // namespace plait::io
