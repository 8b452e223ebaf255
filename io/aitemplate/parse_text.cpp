// Quoted texts of Python's printed values, with their escapes.
#include <charconv>

#include "base/error.h"
#include "io/aitemplate/value.h"

namespace plait::io::aitemplate {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18 & 7));
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

}  // namespace

/// One text, or several beside each other, which Python joins.
std::string PyReader::quoted_text() {
  std::string out;
  for (bool first = true;; first = false) {
    const Mark before = mark();
    if (!first) skip_space();
    const char quote = peek();
    if (quote != '\'' && quote != '"') {
      if (!first) rewind(before);
      return out;
    }
    const At open = at();
    advance();
    while (peek() != quote) {
      if (at_end() || peek() == '\n') fail_at(open, "a text is not closed on its line");
      if (peek() == '\\') {
        escape(out);
      } else {
        out += peek();
        advance();
      }
    }
    advance();
  }
}

void PyReader::escape(std::string& out) {
  advance();
  if (at_end()) fail("a text ends in the middle of an escape");
  const char c = peek();
  constexpr std::string_view kNames = "nrtabfv0'\"\\", kMeans = "\n\r\t\a\b\f\v\0'\"\\";
  const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits) {
    advance();
    const std::string_view hex = text_.substr(pos_, static_cast<std::size_t>(digits));
    std::uint32_t code = 0;
    const auto r = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if (hex.size() != static_cast<std::size_t>(digits) || r.ptr != hex.data() + hex.size() ||
        r.ec != std::errc{} || code > 0x10ffff) {
      fail(str("\\", c, " needs ", digits, " hexadecimal digits of a character, found ", shown()));
    }
    accept(hex);
    append_utf8(out, code);
    return;
  }
  const std::size_t known = kNames.find(c);
  if (known == std::string_view::npos) {
    out += '\\';
    out += c;
  } else {
    out += std::string_view(kMeans.data(), kNames.size())[known];
  }
  advance();
}

}  // namespace plait::io::aitemplate
