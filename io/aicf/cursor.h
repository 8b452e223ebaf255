// What is left of a line while it is read: taking words and numbers off its front, with errors that
// say what stands there and what was expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/lines.h"

namespace plait::io::aicf {

struct Cursor {
  const Lines& lines;
  std::string_view rest = lines.line();

  [[noreturn]] void expected(std::string_view what, std::string_view hint = "") const;
  bool at(std::string_view text) const { return rest.starts_with(text); }
  bool take(std::string_view text);
  void want(std::string_view text);
  std::string_view digits();
  /// A number as Python prints it: no sign, no zeros before it.
  std::int64_t number(std::string_view what);
  /// A number padded with zeros to three digits.
  std::int64_t padded(std::string_view what);
  /// A word without blanks, and the blanks that fill it up to `width`.
  std::string word(std::string_view what, std::size_t width);
};

}  // namespace plait::io::aicf
