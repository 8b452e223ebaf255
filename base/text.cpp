// Text as people read it, and numbers that read back exactly.
#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/error.h"

namespace plait {

std::string with_commas(std::int64_t n) {
  std::string digits = std::to_string(n);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string counted(std::size_t n, std::string_view one, std::string_view many) {
  return str(with_commas(static_cast<std::int64_t>(n)), " ", n == 1 ? one : many);
}

std::string bytes_text(std::int64_t bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  double scaled = static_cast<double>(bytes);
  int unit = 0;
  while (std::abs(scaled) >= 999.95 && unit < 4) {  // what would print as 1000.0
    scaled /= 1000.0;
    ++unit;
  }
  if (unit == 0) return with_commas(bytes) + " B";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f %s", scaled, units[unit]);
  return with_commas(bytes) + " (" + buffer + ")";
}

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == separator) {
      parts.emplace_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  return parts;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if ((c >= 0 && c < ' ' && c != '\t') || c == '\x7f') {  // a terminal would obey it
      constexpr const char* kDigits = "0123456789abcdef";
      out += str("\\u00", kDigits[c >> 4], kDigits[c & 15]);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

constexpr std::size_t kLongestWord = 200;  // the distance takes time quadratic in the length

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  if (word.size() > kLongestWord) return best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 2) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() >= word.size() + best_distance) continue;
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t change = diagonal + (word[i - 1] != candidate[j - 1]);
        diagonal = row[j];
        row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : " Did you mean '" + near + "'?";
}

std::int64_t parse_integer(std::string_view text, std::string_view what) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail(what, " must be a whole number, not '", text, "'");
  }
  return value;
}

double parse_real(std::string_view text, std::string_view what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail(what, " must be a number, not '", text, "'");
  }
  return value;
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  auto measure = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  };
  measure(header);
  for (const auto& row : rows) measure(row);
  std::string out;
  auto print = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      const bool to_right = i < right.size() && right[i];
      line += (i ? "  " : "") + (to_right ? pad + row[i] : row[i] + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  if (!header.empty()) print(header);
  for (const auto& row : rows) print(row);
  return out;
}

}  // namespace plait
