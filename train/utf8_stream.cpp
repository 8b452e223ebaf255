// Bytes as they come, as text.
#include "train/utf8_stream.h"

#include "train/data/utf8.h"

namespace plait::train {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

/// The bytes of the character that this byte begins; 0 when it begins none.
std::size_t length_from(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

/// Whether more bytes may make a character of what stands at the end of `text`, from `at`.
bool may_go_on(std::string_view text, std::size_t at) {
  if (text.size() - at >= length_from(static_cast<unsigned char>(text[at]))) return false;
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return false;
  }
  return true;
}

}  // namespace

std::string Utf8Stream::add(std::string_view bytes) {
  const std::string text = held_ + std::string(bytes);
  held_.clear();
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint next = code_point_at(text, at);
    if (next.bytes == 0 && may_go_on(text, at)) {
      held_ = text.substr(at);
      break;
    }
    out += next.bytes == 0 ? kReplacement : std::string_view(text).substr(at, next.bytes);
    at += next.bytes == 0 ? 1 : next.bytes;
  }
  return out;
}

std::string Utf8Stream::finish() {
  const bool cut = !held_.empty();
  held_.clear();
  return cut ? std::string(kReplacement) : "";
}

}  // namespace plait::train
