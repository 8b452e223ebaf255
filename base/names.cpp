// Bare and quoted names.
#include "base/names.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/text.h"

namespace plait {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

bool is_name_char(char c) {
  constexpr std::string_view marks = "_./:$-";
  return is_letter(c) || is_digit(c) || marks.find(c) != std::string_view::npos;
}

bool is_bare_name(std::string_view name) {
  return !name.empty() && name != "_" && name.front() != ':' && name.back() != ':' &&
         std::all_of(name.begin(), name.end(), is_name_char);
}

std::string name_text(std::string_view name) {
  return is_bare_name(name) ? std::string(name) : quoted(name);
}

bool is_symbol_name(std::string_view name) {
  for (std::string_view word : {"true", "false", "inf", "nan", "min", "max"}) {
    if (name == word) return false;
  }
  if (name.empty() || is_digit(name[0]) || dtype_named(name)) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

}  // namespace plait
