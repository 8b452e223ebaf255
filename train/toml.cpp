// TOML through toml++, which no other file sees.
#include "train/toml.h"

// toml++ asserts that `[[` is followed by a key, which is the file's affair, and with NDEBUG lets
// the compiler assume it. Without both, its own check behind says what is wrong.
#undef NDEBUG
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/text.h"

namespace plait::train {
namespace {

struct Placed {
  toml::source_position at;
  Setting setting;
};

std::string place(const std::string& name, const toml::source_position& at) {
  return str(name, ": line ", at.line);
}

std::string kind_of(const toml::node& node) {
  if (node.is_table()) return "a section";
  if (node.is_array()) return "a list";
  return "a date or time";
}

Value list_of(const toml::array& array) {
  std::vector<std::string> texts;
  for (const toml::node& item : array) {
    const auto text = item.value_exact<std::string>();
    if (!text) return Unusable{"a list of something else than texts"};
    texts.push_back(*text);
  }
  return texts;
}

Value value_of(const toml::node& node) {
  if (const auto value = node.value_exact<bool>()) return *value;
  if (const auto value = node.value_exact<std::int64_t>()) return *value;
  if (const auto value = node.value_exact<double>()) return *value;
  if (const auto value = node.value_exact<std::string>()) return *value;
  if (const toml::array* array = node.as_array()) return list_of(*array);
  return Unusable{kind_of(node)};
}

/// The keys of one section; they are not sections themselves.
void add_section(const std::string& section, const toml::table& table, const std::string& name,
                 std::vector<Placed>& out) {
  for (const auto& [key, node] : table) {
    const std::string text(key.str());
    const toml::source_position at = key.source().begin;
    if (node.is_table()) {
      fail(place(name, at), ": [", section, ".", text, "]: a section has no sections");
    }
    out.push_back({at, {section, text, value_of(node), place(name, at)}});
  }
}

constexpr int kMostParts = 100;  // of a dotted key

/// A key's parts are tables within each other: what walks over them calls itself at each, and the
/// library bounds the depth of values alone. UserError at a key of more than kMostParts.
void check_keys(std::string_view text, const std::string& name) {
  int line = 1, dots = 0;
  char until = '\0';  // what ends the string or comment
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    line += c == '\n';
    if (until != '\0') {
      if (c == '\\' && until == '"') ++i;
      if (c == until || c == '\n') until = '\0';
    } else if (c == '"' || c == '\'' || c == '#') {
      until = c == '#' ? '\n' : c;
    } else if (c == '.') {
      if (++dots < kMostParts) continue;
      fail(name, ": line ", line, ": a key of more than ", kMostParts, " parts");
    } else if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) {
      dots = 0;
    }
  }
}

toml::table parsed(std::string_view text, const std::string& name) {
  check_keys(text, name);
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& e) {
    const toml::source_position at = e.source().begin;
    fail(place(name, at), ", column ", at.column, ": ", e.description());
  }
}

std::string text_in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kHex[] = "0123456789ABCDEF";
      out += str("\\u00", kHex[byte >> 4], kHex[byte & 15]);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

std::vector<Setting> read_toml(std::string_view text, const std::string& name) {
  const toml::table root = parsed(text, name);
  std::vector<Placed> placed;
  for (const auto& [key, node] : root) {
    const std::string section(key.str());
    if (const toml::table* table = node.as_table()) {
      add_section(section, *table, name, placed);
    } else {
      const toml::source_position at = key.source().begin;
      placed.push_back({at, {"", section, value_of(node), place(name, at)}});
    }
  }
  const auto earlier = [](const Placed& a, const Placed& b) { return a.at < b.at; };
  std::stable_sort(placed.begin(), placed.end(), earlier);
  std::vector<Setting> settings;
  for (Placed& p : placed) settings.push_back(std::move(p.setting));
  return settings;
}

Value read_toml_value(std::string_view text, const std::string& where) {
  try {
    check_keys(text, where);
    const toml::table table = toml::parse(str("v = ", text));
    if (table.size() == 1 && table.contains("v")) return value_of(*table.get("v"));
  } catch (const toml::parse_error& e) {
    fail(where, ": ", e.description());
  }
  fail(where, ": more than one value");
}

std::string toml_text(const Value& value) {
  struct Writer {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return real_text(v); }
    std::string operator()(const std::string& v) const { return text_in_quotes(v); }
    std::string operator()(const std::vector<std::string>& v) const {
      std::vector<std::string> parts;
      for (const std::string& text : v) parts.push_back(text_in_quotes(text));
      return "[" + join(parts, ", ") + "]";
    }
    std::string operator()(const Unusable& v) const {
      throw Bug(str(v.what, " is written nowhere"));
    }
  };
  return std::visit(Writer{}, value);
}

std::string shown(const Value& value) {
  if (const auto* unusable = std::get_if<Unusable>(&value)) return unusable->what;
  constexpr std::size_t kLongest = 60;
  const std::string text = toml_text(value);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

}  // namespace plait::train
