// UTF-8 by the table of well-formed sequences (Unicode 15, table 3-7).
#include "train/data/utf8.h"

#include "base/error.h"
#include "base/text.h"

namespace plait::train {
namespace {

struct Lead {
  std::uint8_t first, last;           // of the first byte
  std::uint8_t second_lo, second_hi;  // of the second byte; the others are 80 to BF
  std::size_t bytes;
};
constexpr Lead kLeads[] = {
    {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
    {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
    {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
};

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  for (const Lead& lead : kLeads) {
    if (first < lead.first || first > lead.last) continue;
    if (text.size() - at < lead.bytes) return {};
    if (byte(1) < lead.second_lo || byte(1) > lead.second_hi) return {};
    std::uint32_t value = first & (0xFFu >> (lead.bytes + 1));
    for (std::size_t i = 1; i < lead.bytes; ++i) {
      if ((byte(i) & 0xC0) != 0x80) return {};
      value = (value << 6) | (byte(i) & 0x3Fu);
    }
    return {value, lead.bytes};
  }
  return {};
}

void append_utf8(std::string& out, std::uint32_t code) {
  check(code < kCodePoints, "code point ", code);
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::uint32_t kMarks[] = {0, 0xC0, 0xE0, 0xF0};  // by how many bytes follow
  out += static_cast<char>(kMarks[more] | (code >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80u | ((code >> (6 * i)) & 0x3Fu));
}

void not_utf8(std::string_view text, std::size_t at, std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<std::uint8_t>(text[at]);
  fail(name, ": not UTF-8 at byte ", with_commas(static_cast<std::int64_t>(at)), " (0x",
       kDigits[byte >> 4], kDigits[byte & 15], "). Take unit byte for text in another encoding");
}

}  // namespace plait::train
