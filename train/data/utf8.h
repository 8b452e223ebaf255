// UTF-8 to code points and back, strictly: no overlong forms, no surrogates, nothing above 10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace plait::train {

inline constexpr std::uint32_t kCodePoints = 0x110000;

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: what stands there is not UTF-8
};

/// The code point that begins at text[at], at < text.size().
CodePoint code_point_at(std::string_view text, std::size_t at);

void append_utf8(std::string& out, std::uint32_t code_point);

/// Calls f(code point, byte offset) for each; UserError `NAME: not UTF-8 at byte OFFSET (0xff)`.
template <class F>
void for_each_code_point(std::string_view text, std::string_view name, F f);

[[noreturn]] void not_utf8(std::string_view text, std::size_t at, std::string_view name);

template <class F>
void for_each_code_point(std::string_view text, std::string_view name, F f) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint next = code_point_at(text, at);
    if (next.bytes == 0) not_utf8(text, at, name);
    f(next.value, at);
    at += next.bytes;
  }
}

}  // namespace plait::train
