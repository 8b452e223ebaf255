// How the format spells things: widths, limits, padding and attributes. For reading and writing.
#pragma once

#include <string>
#include <string_view>

namespace plait::io::aicf {

inline constexpr std::string_view kTitle = "=== IRGraph: ";
inline constexpr std::size_t kNameWidth = 12, kOpWidth = 10;
inline constexpr std::size_t kMaxWord = 200;  // bytes of a name, an op or a device
inline constexpr std::size_t kMaxRank = 64;   // torch's own
inline constexpr std::size_t kMaxAttrs = 64;

/// The blanks that fill `text` up to `width` characters, counted as Python counts them (UTF-8).
std::string padding(std::string_view text, std::size_t width);

/// Why this cannot be a name, an op or a device: empty, too long, a blank or control character.
/// Empty if it can.
std::string why_bad_word(std::string_view text);

/// The length of `key` where the text begins with `key=`, else 0. A key is an identifier.
std::size_t key_length(std::string_view text);
/// The length of an attribute's value: up to the next `, key=` or the end.
std::size_t value_length(std::string_view text);

/// `%.6g` as AICF prints, with more digits where those read back as another number, of f32 when
/// `single`.
std::string number_text(double value, bool single);

/// The beginning of a text as a message can show it: `"abc"`, `the end of the line`.
std::string found_text(std::string_view text);

}  // namespace plait::io::aicf
