// Text out of bytes that come one by one.
#include "train/utf8_stream.h"

#include <gtest/gtest.h>

namespace plait::train {
namespace {

TEST(Utf8Stream, HoldsBackWhatIsNotWhole) {
  Utf8Stream s;
  EXPECT_EQ(s.add("a\xe2"), "a");
  EXPECT_EQ(s.add("\x82"), "");
  EXPECT_EQ(s.add("\xac"
                  "b"),
            "€b");
  EXPECT_EQ(s.add("\xf0\x9f\x98"), "");
  EXPECT_EQ(s.add("\x80"), "😀");
  EXPECT_EQ(s.finish(), "");
}

TEST(Utf8Stream, ReplacesWhatCannotBecomeACharacter) {
  Utf8Stream s;
  EXPECT_EQ(s.add("\xff"
                  "a"),
            "\ufffd"
            "a");
  EXPECT_EQ(s.add("\xe2"
                  "b"),
            "\ufffd"
            "b");
  EXPECT_EQ(s.add("\xc3"), "");
  EXPECT_EQ(s.add("\xc3"), "\ufffd");  // the second may still go on
  EXPECT_EQ(s.add("\xa9"), "é");
  EXPECT_EQ(s.add("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");  // a surrogate
  EXPECT_EQ(s.add("\xe2\x82"), "");
  EXPECT_EQ(s.finish(), "\ufffd");
  EXPECT_EQ(s.finish(), "");
}

}  // namespace
}  // namespace plait::train
