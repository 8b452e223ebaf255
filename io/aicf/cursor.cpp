// Taking words and numbers off a line.
#include "io/aicf/cursor.h"

#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "io/aicf/words.h"

namespace plait::io::aicf {

void Cursor::expected(std::string_view what, std::string_view hint) const {
  const std::size_t column = lines.line().size() - rest.size() + 1;
  lines.fail("column ", column, ": found ", found_text(rest), ", expected ", what,
             hint.empty() ? "" : ". ", hint);
}

bool Cursor::take(std::string_view text) {
  if (!at(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

void Cursor::want(std::string_view text) {
  if (!take(text)) expected(quoted(text));
}

std::string_view Cursor::digits() {
  std::size_t n = 0;
  while (n < rest.size() && rest[n] >= '0' && rest[n] <= '9') ++n;
  const std::string_view taken = rest.substr(0, n);
  rest.remove_prefix(n);
  return taken;
}

std::int64_t Cursor::number(std::string_view what) {
  const Cursor start = *this;
  if (at("-")) start.expected(what, "It cannot be negative");
  const std::string_view text = digits();
  std::int64_t n = 0;
  const bool plain = !text.empty() && (text.size() == 1 || text[0] != '0');
  if (!plain || std::from_chars(text.data(), text.data() + text.size(), n).ec != std::errc()) {
    start.expected(what);
  }
  return n;
}

std::int64_t Cursor::padded(std::string_view what) {
  const Cursor start = *this;
  const std::string_view text = digits();
  std::int64_t n = 0;
  if (text.size() < 3 || text.size() > 15 || (text.size() > 3 && text[0] == '0')) {
    start.expected(what, "Numbers have three digits or more, with zeros before short ones");
  }
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

std::string Cursor::word(std::string_view what, std::size_t width) {
  const Cursor start = *this;
  const std::string_view text = rest.substr(0, rest.find(' '));
  if (const std::string why = why_bad_word(text); !why.empty()) start.expected(what, why);
  rest.remove_prefix(text.size());
  const std::string blanks = padding(text, width);
  if (!take(blanks) || (!rest.empty() && rest.starts_with("  "))) {
    start.expected(str(what, " filled up with blanks to ", width, " characters"));
  }
  return std::string(text);
}

}  // namespace plait::io::aicf
