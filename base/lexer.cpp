// Characters of text forms.
#include "base/lexer.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>

#include "base/names.h"
#include "base/text.h"

namespace plait {
namespace {

constexpr std::size_t kLongestQuote = 32;  // of the text, in a message

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string clipped(std::string_view text) {
  const bool whole = text.size() <= kLongestQuote;
  return str("'", text.substr(0, kLongestQuote), whole ? "'" : "...'");
}

/// What `\u` and these digits at `start` stand for.
char control_character(std::string_view digits, std::size_t start) {
  unsigned code = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  const bool read = error == std::errc() && digits.size() == 4 && end == digits.end();
  if (!read || (code >= ' ' && code != 0x7f)) {
    throw SyntaxError{start,
                      "'\\u' in a string stands before the four digits of a control character, "
                      "0000 to 001f or 007f"};
  }
  return static_cast<char>(code);
}

}  // namespace

std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return str(lines + 1, ":", before.size() - start + 1);
}

std::size_t Lexer::skip() {
  while (pos < text.size()) {
    const char c = text[pos];
    if (c == '#') {
      pos = std::min(text.find('\n', pos), text.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++pos;
    } else {
      break;
    }
  }
  return pos;
}

bool Lexer::take(char c) {
  if (at_end() || text[pos] != c) return false;
  ++pos;
  return true;
}

void Lexer::expect(char c, std::string_view place) {
  if (!take(c)) expected(str("'", c, "' ", place));
}

std::string_view Lexer::bare() {
  skip();
  std::size_t end = pos;
  if (end < text.size() && text[end] == ':') return {};
  while (end < text.size() && is_name_char(text[end])) ++end;
  while (end > pos && text[end - 1] == ':') --end;
  return text.substr(pos, end - pos);
}

bool Lexer::take_word(std::string_view word) {
  if (bare() != word) return false;
  pos += word.size();
  return true;
}

std::string Lexer::name(std::string_view what) {
  if (peek() == '"') return quoted_string();
  const std::string_view word = bare();
  if (word.empty()) expected(what);
  pos += word.size();
  return std::string(word);
}

std::string Lexer::quoted_string() {
  const std::size_t start = skip();
  std::string out;
  for (std::size_t i = start + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '"') {
      pos = i + 1;
      return out;
    }
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = ++i < text.size() ? text[i] : '\0';
    if (c == 'u') {
      out += control_character(text.substr(i + 1, 4), i - 1);
      i += 4;
      continue;
    }
    if (c != '"' && c != '\\' && c != 'n') {
      throw SyntaxError{i - 1, "a '\\' in a string stands before '\"', '\\', 'n' or 'u' only"};
    }
    out += c == 'n' ? '\n' : c;
  }
  throw SyntaxError{start, "the string that starts here does not end on its line"};
}

std::int64_t Lexer::integer(std::string_view what) {
  skip();
  std::int64_t value = 0;
  const char* const begin = text.data() + pos;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error == std::errc::invalid_argument) expected(what);
  if (error != std::errc()) {
    const auto length = static_cast<std::size_t>(end - begin);
    throw SyntaxError{
        pos, str("the number ", clipped(text.substr(pos, length)), " does not fit 64 bits")};
  }
  pos += static_cast<std::size_t>(end - begin);
  return value;
}

std::optional<double> Lexer::real() {
  const std::size_t sign = peek() == '-' ? 1 : 0;
  const std::string_view rest = text.substr(pos);
  const std::string_view word = bare();
  using Limits = std::numeric_limits<double>;
  if (word == "inf" || word == "-inf" || word == "nan") {
    pos += word.size();
    return word == "nan" ? Limits::quiet_NaN() : sign ? -Limits::infinity() : Limits::infinity();
  }
  if (rest.size() <= sign || !is_digit(rest[sign])) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const std::string_view number = rest.substr(0, static_cast<std::size_t>(end - rest.data()));
  if (number.find_first_of(".eE") == std::string_view::npos) return std::nullopt;
  if (error != std::errc()) {
    throw SyntaxError{pos, str("the number ", clipped(number), " does not fit a double")};
  }
  pos += number.size();
  return value;
}

Dim Lexer::dim(const DimResolver& resolve) {
  const std::size_t start = skip();
  std::size_t read = 0;
  try {
    Dim d = parse_dim(text.substr(start), read, resolve);
    pos = start + read;
    return d;
  } catch (const UserError& e) {
    // The place and what stands there are said in the terms of the whole text instead.
    std::string message = e.what();
    const std::size_t column = message.find(" at column ");
    pos = start + read;
    if (column != std::string::npos) message = message.substr(0, column) + ", found " + found();
    throw SyntaxError{pos, message};
  }
}

DType Lexer::dtype(std::string_view what) {
  const std::string_view word = bare();
  if (word.empty()) expected(what);
  const std::optional<DType> dtype = dtype_named(word);
  if (!dtype) {
    const std::vector<std::string> names(kDTypeNames.begin(), kDTypeNames.end());
    const std::string hint = suggestion(word, names);
    throw SyntaxError{pos, str("unknown dtype '", word, "'.",
                               hint.empty() ? " Known: " + join(names, ", ") : hint)};
  }
  pos += word.size();
  return *dtype;
}

void Lexer::expected(std::string_view what) {
  const std::string next = found();
  throw SyntaxError{pos, str("expected ", what, ", found ", next)};
}

std::string Lexer::found() {
  if (at_end()) return "the end of the text";
  const char c = text[pos];
  if (c == '"') {
    const std::size_t end = std::min(text.find_first_of("\"\n", pos + 1), text.size());
    const bool closed = end < text.size() && text[end] == '"';
    return clipped(text.substr(pos, end - pos + (closed ? 1 : 0)));
  }
  if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "the byte 0x%02x", static_cast<unsigned char>(c));
    return buffer;
  }
  if (c != '%') return clipped(bare().empty() ? text.substr(pos, 1) : bare());
  Lexer behind{text, pos + 1};
  const bool joined = pos + 1 < text.size() && is_name_char(text[pos + 1]);
  return clipped(text.substr(pos, 1 + (joined ? behind.bare().size() : 0)));
}

}  // namespace plait
