// Cutting texts and streams into lines.
#include "io/lines.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/raises.h"

namespace plait::io {
namespace {

std::vector<std::string> all(Lines lines) {
  std::vector<std::string> out;
  while (lines.next()) out.emplace_back(lines.line());
  return out;
}

/// Hands out `text` in pieces of `piece` bytes.
ByteSource in_pieces(std::string text, std::size_t piece) {
  return [text = std::move(text), used = std::size_t{0}, piece](char* buffer,
                                                                std::size_t room) mutable {
    const std::size_t count = std::min({room, piece, text.size() - used});
    text.copy(buffer, count, used);
    used += count;
    return count;
  };
}

TEST(Lines, OfTextAndOfAStreamAreTheSame) {
  for (const std::string text : {"", "a", "a\n", "a\nb", "\n", "\n\n", "a\n\nb\n", "\r\n"}) {
    const std::vector<std::string> expected = all(Lines(text, "f"));
    for (std::size_t piece : {1, 2, 3, 100}) {
      EXPECT_EQ(all(Lines(in_pieces(text, piece), "f")), expected) << text << " by " << piece;
    }
  }
  EXPECT_EQ(all(Lines("a\n\nb", "f")), (std::vector<std::string>{"a", "", "b"}));
}

TEST(Lines, CountsAndSaysWhetherALineEnded) {
  Lines lines("a\nb", "f.txt");
  ASSERT_TRUE(lines.next());
  EXPECT_TRUE(lines.ended());
  ASSERT_TRUE(lines.next());
  EXPECT_FALSE(lines.ended());
  EXPECT_EQ(test::message_of([&] { lines.fail("bad ", 3); }), "f.txt:2: bad 3");
  EXPECT_FALSE(lines.next());
}

TEST(Lines, CarriageReturnsStayUnlessTheyAreTaken) {
  EXPECT_EQ(all(Lines("a\r\nb\r", "f")), (std::vector<std::string>{"a\r", "b\r"}));
  Lines lines("a\r\nb\r", "f");
  lines.take_carriage_returns();
  ASSERT_TRUE(lines.next());
  EXPECT_EQ(lines.line(), "a");
  ASSERT_TRUE(lines.next());
  EXPECT_EQ(lines.line(), "b\r") << "no newline, no line end";
}

TEST(Lines, RefusesALineWithoutEnd) {
  // A stream that never ends: only what one line may have is read.
  std::size_t handed = 0;
  Lines lines(
      [&](char* buffer, std::size_t room) {
        std::fill_n(buffer, room, 'x');
        handed += room;
        return room;
      },
      "noise");
  EXPECT_EQ(test::message_of([&] { lines.next(); }),
            "noise:1: the line is longer than 1048576 bytes; is this a text document?");
  EXPECT_LE(handed, 2 * Lines::kMaxBytes);
}

}  // namespace
}  // namespace plait::io
