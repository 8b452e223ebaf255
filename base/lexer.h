// A cursor over a text form: blanks and comments, punctuation, names, strings, numbers, sizes and
// dtypes. What they mean is for the forms: of graphs in ir/, of kernels in loop/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dim.h"
#include "base/dtype.h"
#include "base/error.h"

namespace plait {

/// A mistake at an offset of the text. It stays inside a parser, which turns it into a UserError
/// that says where.
struct SyntaxError {
  std::size_t offset;
  std::string message;
};

/// `LINE:COLUMN` of an offset, both counted from 1, columns in bytes.
std::string line_and_column(std::string_view text, std::size_t offset);

/// Runs f, which reads `text`; its SyntaxError becomes a UserError `FILE:LINE:COLUMN: what ...`.
template <class F>
auto located_in(std::string_view text, std::string_view file, F f) {
  try {
    return f();
  } catch (const SyntaxError& e) {
    fail(file, ":", line_and_column(text, e.offset), ": ", e.message);
  }
}

struct Lexer {
  std::string_view text;
  std::size_t pos = 0;

  /// Moves past blanks and comments and returns the offset of what follows them.
  std::size_t skip();
  bool at_end() { return skip() == text.size(); }
  /// The next character, '\0' at the end.
  char peek() { return at_end() ? '\0' : text[pos]; }
  bool take(char c);
  void expect(char c, std::string_view place);

  /// The bare name that stands next, not taken; empty when there is none. A ':' behind it is not
  /// part of it.
  std::string_view bare();
  /// Takes a bare name that is exactly this word.
  bool take_word(std::string_view word);
  /// A bare or a quoted name.
  std::string name(std::string_view what);
  std::string quoted_string();

  std::int64_t integer(std::string_view what);
  /// A number with '.' or 'e', inf or nan; nothing is taken when something else stands next.
  std::optional<double> real();
  Dim dim(const DimResolver& resolve);
  DType dtype(std::string_view what);

  /// Reads `read(), read(), ...` up to `close`.
  template <class Read>
  void list(char close, Read read) {
    if (take(close)) return;
    do {
      read();
    } while (take(','));
    if (!take(close)) expected(str("',' or '", close, "'"));
  }

  /// Runs f; a UserError of base/ becomes a SyntaxError at `offset`.
  template <class F>
  auto located(std::size_t offset, F f) {
    try {
      return f();
    } catch (const UserError& e) {
      throw SyntaxError{offset, e.what()};
    }
  }

  [[noreturn]] void expected(std::string_view what);
  /// What stands next, for messages.
  std::string found();
};

}  // namespace plait
