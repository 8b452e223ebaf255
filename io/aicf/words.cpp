// How the format spells things.
#include "io/aicf/words.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace plait::io::aicf {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string padding(std::string_view text, std::size_t width) {
  // Bytes 10xxxxxx continue a character.
  const auto characters = static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
  return std::string(characters < width ? width - characters : 0, ' ');
}

std::string why_bad_word(std::string_view text) {
  if (text.empty()) return "It cannot be empty";
  if (text.size() > kMaxWord) return str("It cannot be longer than ", kMaxWord, " bytes");
  if (text.find(' ') != std::string_view::npos) return "It cannot hold a blank";
  if (std::any_of(text.begin(), text.end(), is_control)) return "It holds a control character";
  return "";
}

std::size_t key_length(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return 0;
  std::size_t n = 1;
  while (n < text.size() && n <= kMaxWord && (is_letter(text[n]) || is_digit(text[n]))) ++n;
  return n < text.size() && text[n] == '=' ? n : 0;
}

std::size_t value_length(std::string_view text) {
  for (std::size_t comma = text.find(", "); comma != std::string_view::npos;
       comma = text.find(", ", comma + 1)) {
    if (key_length(text.substr(comma + 2)) > 0) return comma;
  }
  return text.size();
}

std::string number_text(double value, bool single) {
  char text[64];
  for (int digits : {6, 9, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    const double back = std::strtod(text, nullptr);
    if (single ? static_cast<float>(back) == static_cast<float>(value) : back == value) break;
  }
  return text;
}

std::string found_text(std::string_view text) {
  if (text.empty()) return "the end of the line";
  constexpr std::size_t kShown = 40;
  std::string shown;
  for (char c : text.substr(0, kShown)) shown += is_control(c) ? '.' : c;
  return quoted(shown) + (text.size() > kShown ? "..." : "");
}

}  // namespace plait::io::aicf
