// Text as people read it: numbers with separators, bytes, durations, the nearest known word, and
// numbers as the compiler reads them back (shortest exact form).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

/// 94803968 -> `94,803,968`
std::string with_commas(std::int64_t n);
/// 1 -> `1 node`, 1234 -> `1,234 nodes`
std::string counted(std::size_t n, std::string_view one, std::string_view many);
/// 574668960 -> `574,668,960 (574.7 MB)`; MB is 10^6 bytes.
std::string bytes_text(std::int64_t bytes);
/// The shortest text that reads back as the same double; always with a '.', 'e', inf or nan.
std::string real_text(double value);

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
/// In quotation marks; `\"`, `\\`, `\n` and `\u001b` for control characters other than tabs.
std::string quoted(std::string_view text);

/// The candidate closest to `word` by edit distance, empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
/// ` Did you mean 'x'?` or, when nothing is near, an empty string.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

/// Whole-string numbers; UserError says what `what` was given instead.
std::int64_t parse_integer(std::string_view text, std::string_view what);
double parse_real(std::string_view text, std::string_view what);

/// Columns padded to the widest cell; the first column left, the others as `right` says.
struct Table {
  std::vector<std::string> header;
  std::vector<bool> right;
  std::vector<std::vector<std::string>> rows;
  std::string text() const;
};

}  // namespace plait
