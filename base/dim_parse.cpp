// Reads dimensions from their text form.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "base/dim.h"
#include "base/error.h"

namespace plait {
namespace {

/// Recursive descent over sum, product, quotient and remainder (left to right), atoms.
struct DimParser {
  std::string_view text;
  std::size_t& pos;
  const DimResolver& resolve;
  int depth = 0;

  void skip() {
    while (pos < text.size() && text[pos] == ' ') ++pos;
  }
  bool take(std::string_view token) {
    skip();
    if (text.substr(pos, token.size()) != token) return false;
    pos += token.size();
    return true;
  }
  [[noreturn]] void expected(std::string_view what) {
    fail("expected ", what, " in a size at column ", pos + 1, ", found '",
         std::string(text.substr(pos, 12)), "'");
  }
  Dim sum() {
    if (++depth > 64) fail("a size expression is nested more than 64 deep");
    Dim d = take("-") ? negative_product() : product();
    for (;;) {
      if (take("+")) {
        d = d + product();
      } else if (take("-")) {
        d = d + negative_product();
      } else {
        --depth;
        return d;
      }
    }
  }
  /// What follows a '-'. The smallest int64 is read whole: without its sign it does not fit.
  Dim negative_product() {
    constexpr std::string_view kMagnitude = "9223372036854775808";
    skip();
    const std::size_t start = pos;
    if (take(kMagnitude) &&
        (pos == text.size() || !std::isdigit(static_cast<unsigned char>(text[pos])))) {
      return product_from(Dim(std::numeric_limits<std::int64_t>::min()));
    }
    pos = start;
    return Dim(0) - product();
  }
  Dim product() { return product_from(atom()); }
  Dim product_from(Dim d) {
    for (;;) {
      if (take("//")) {
        d = floordiv(d, atom());
      } else if (take("%")) {
        d = mod(d, atom());
      } else if (take("*")) {
        d = d * atom();
      } else {
        return d;
      }
    }
  }
  Dim pair(Dim (*f)(const Dim&, const Dim&)) {
    const Dim a = sum();
    if (!take(",")) expected("','");
    const Dim b = sum();
    if (!take(")")) expected("')'");
    return f(a, b);
  }
  Dim atom() {
    if (take("(")) {
      Dim d = sum();
      if (!take(")")) expected("')'");
      return d;
    }
    skip();
    const std::size_t start = pos;
    if (pos < text.size() && std::isdigit(static_cast<unsigned char>(text[pos]))) {
      std::int64_t v = 0;
      const auto [end, error] = std::from_chars(text.data() + pos, text.data() + text.size(), v);
      const auto length = static_cast<std::size_t>(end - text.data()) - pos;
      if (error != std::errc()) {
        const std::size_t shown = std::min<std::size_t>(length, 32);
        fail("the number '", text.substr(pos, shown), shown < length ? "..." : "",
             "' does not fit 64 bits");
      }
      pos += length;
      return Dim(v);
    }
    // An index of a kernel: its mark, and primes where it is a part of another one.
    const bool is_index = pos < text.size() && text[pos] == '$';
    if (is_index) ++pos;
    const auto is_name = [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (is_index && c == '\'');
    };
    while (pos < text.size() && is_name(text[pos])) ++pos;
    const std::string_view name = text.substr(start, pos - start);
    if (name.empty()) expected("a number or a symbol");
    if (name == "min" && take("(")) return pair(min);
    if (name == "max" && take("(")) return pair(max);
    return resolve(name);
  }
};

}  // namespace

Dim parse_dim(std::string_view text, std::size_t& pos, const DimResolver& resolve) {
  return DimParser{text, pos, resolve}.sum();
}

}  // namespace plait
