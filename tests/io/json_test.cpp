// JSON within bounds: what is refused, and how members that are not there or of another type read.
#include "io/json.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/raises.h"

namespace plait::io {
namespace {

using test::message_of;

std::string error(const std::string& text) {
  return message_of<UserError>([&] { parse_json(text, "f"); });
}

std::string nested(int depth) {
  const auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

TEST(JsonFiles, WhatIsNone) {
  EXPECT_EQ(error(""), "f is no JSON from byte 1 on, its end");
  EXPECT_EQ(error("{\"a\": 1"), "f is no JSON from byte 8 on, its end");
  EXPECT_EQ(error("[1, }"), "f is no JSON from byte 5 on");
  EXPECT_EQ(error(std::string("[]\0[", 4)), "f is no JSON from byte 3 on");
  EXPECT_EQ(error("[1e999]"), "f holds a number that does not fit");
  EXPECT_EQ(error("{\"a\": {\"b\": 1, \"b\": 2}}"), "f has \"b\" twice");
}

TEST(JsonFiles, DepthIsBounded) {
  EXPECT_EQ(parse_json(nested(kMostJsonDepth), "f").dump(), nested(kMostJsonDepth));
  EXPECT_EQ(error(nested(kMostJsonDepth + 1)), "f is nested more than 32 deep");
  EXPECT_EQ(error(nested(1'000'000)), "f is nested more than 32 deep");
  EXPECT_EQ(message_of<UserError>([] { parse_json("[[[]]]", "", 2); }),
            "is nested more than 2 deep");
}

TEST(JsonFiles, MembersByType) {
  const Json json = parse_json(R"({"a": "x", "b": [1], "c": 5})", "f");
  const auto wrong = [&](const Json& in, const char* key) {
    return message_of<UserError>([&] { text_member(in, key, "f"); });
  };
  EXPECT_EQ(text_member(json, "a", "f"), "x");
  EXPECT_EQ(wrong(json, "b"), "f has as \"b\" a list, not a text");
  EXPECT_EQ(wrong(json, "c"), "f has as \"c\" 5, not a text");
  EXPECT_EQ(wrong(json, "d"), "f has no \"d\"");
  EXPECT_EQ(wrong(Json(std::string(50, 'x')), "d"),
            "f is \"" + std::string(40, 'x') + "\"..., not an object with \"d\"");
}

}  // namespace
}  // namespace plait::io
