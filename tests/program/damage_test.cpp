// Bytes that are not a whole plan are refused with a message, whatever they are.
#include <gtest/gtest.h>

#include <random>

#include "base/hash.h"
#include "program/program.h"
#include "tests/program/same_program.h"
#include "tests/program/small_program.h"
#include "tests/raises.h"

namespace plait::program {
namespace {

using test::message_of;

std::string refusal(std::string_view bytes) {
  return message_of([&] { from_bytes(bytes, "my.plan"); });
}

/// A first line that fits the body.
std::string sealed(const std::string& body, const std::string& format = "7") {
  return str("plait-plan ", format, " ", hex_digits(fnv1a64(body)), " ", body.size(), "\n", body);
}

std::string body_of(const std::string& bytes) { return bytes.substr(bytes.find('\n') + 1); }

TEST(ProgramDamage, WholeIsRead) {
  const std::string bytes = to_bytes(small_program());
  EXPECT_EQ(sealed(body_of(bytes)), bytes);
  expect_same(small_program(), from_bytes(bytes, "my.plan"));
}

TEST(ProgramDamage, CutAnywhere) {
  const std::string bytes = to_bytes(small_program());
  EXPECT_EQ(refusal(""), "my.plan: this is not a plan");
  for (std::size_t n = 1; n < bytes.size(); ++n) {
    const std::string said = refusal(std::string_view(bytes).substr(0, n));
    ASSERT_TRUE(said.starts_with("my.plan: the plan is cut")) << n << ": " << said;
    ASSERT_TRUE(said.ends_with(": compile again")) << said;
  }
  EXPECT_EQ(refusal(bytes.substr(0, bytes.size() - 5)),
            str("my.plan: the plan is cut (", body_of(bytes).size() - 5, " of ",
                body_of(bytes).size(), " bytes): compile again"));
}

TEST(ProgramDamage, OneBitAnywhere) {
  const std::string bytes = to_bytes(small_program());
  const std::size_t line = bytes.find('\n');
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string bad = bytes;
    bad[i / 8] = static_cast<char>(bad[i / 8] ^ (1 << i % 8));
    const std::string said = refusal(bad);
    if (i / 8 <= line) {
      ASSERT_TRUE(said.starts_with("my.plan: th")) << i << ": " << said;
    } else {
      ASSERT_EQ(
          said,
          "my.plan: the plan is damaged (its content is not what was written): compile again");
    }
  }
}

TEST(ProgramDamage, MoreThanItSays) {
  EXPECT_EQ(refusal(to_bytes(small_program()) + " "),
            "my.plan: the plan is damaged (its first line does not fit it): compile again");
}

TEST(ProgramDamage, AnotherVersion) {
  const std::string body = body_of(to_bytes(small_program()));
  EXPECT_EQ(
      refusal(sealed(body, "3")),
      "my.plan: the plan was written by another version (format '3', this one has 7): compile "
      "again");
}

TEST(ProgramDamage, MistakesOfAnEditorHaveALineAndAColumn) {
  const std::string body = body_of(to_bytes(small_program()));
  EXPECT_EQ(refusal("plait-plan 7\nx" + body),
            "my.plan: the plan is damaged (line 2, column 1: 'symbols' is expected, found "
            "'xsymbols'): compile again");
  EXPECT_EQ(refusal("plait-plan 7\n\n\n  x " + body),
            "my.plan: the plan is damaged (line 4, column 3: 'symbols' is expected, found 'x'): "
            "compile again");
}

TEST(ProgramDamage, RandomBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random() % 400, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_EQ(refusal(bytes), "my.plan: this is not a plan");
    EXPECT_TRUE(refusal(sealed(bytes)).starts_with("my.plan: the plan is damaged (line "));
  }
}

/// Whatever stands behind a right hash is read or refused; what is read can be written again.
TEST(ProgramDamage, ChangedAndSealedAgain) {
  const std::string body = body_of(to_bytes(small_program()));
  std::mt19937 random(11);
  int read = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bad = body;
    for (unsigned n = 1 + random() % 3; n > 0; --n) {
      const std::size_t at = random() % bad.size();
      switch (random() % 4) {
        case 0:
          bad[at] = static_cast<char>(random());
          break;
        case 1:
          bad[at] = "0123456789- :"[random() % 13];
          break;
        case 2:
          bad.erase(at, 1 + random() % 8);
          break;
        default:
          bad.insert(at, bad.substr(random() % bad.size(), random() % 12));
          break;
      }
    }
    try {
      const Program program = from_bytes(sealed(bad), "my.plan");
      from_bytes(to_bytes(program), "again");
      ++read;
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 10000);
}

TEST(ProgramDamage, OtherMembers) {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string body = body_of(to_bytes(small_program()));
    const std::size_t at = body.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    body.replace(at, from.size(), to);
    const std::string said = refusal(sealed(body));
    const std::size_t behind = said.find(": ", said.find("(line "));
    EXPECT_TRUE(said.starts_with("my.plan: the plan is damaged (line ")) << said;
    return behind == std::string::npos ? said : said.substr(behind + 2);
  };
  EXPECT_EQ(changed("offset 64", "shift 64"),
            "'offset' is expected, found 'shift'): compile again");
  EXPECT_EQ(changed("offset 64", "offset x"), "a number is expected): compile again");
  EXPECT_EQ(changed("region arena", "region attic"), "unknown word 'attic'): compile again");
  EXPECT_EQ(changed("access write", "access both"), "unknown word 'both'): compile again");
  EXPECT_EQ(changed("view 3", "view -2"), "no id is -2): compile again");
  EXPECT_EQ(changed("single_kernel 0", "single_kernel 2"), "0 or 1 is expected): compile again");
  EXPECT_EQ(changed("loop {", "loup {"), "unknown word 'loup'): compile again");
  EXPECT_EQ(changed("rows \"n\"", "rows \"m\""), "unknown symbol 'm'): compile again");
  EXPECT_EQ(changed("rows \"n\"", "rows \"n)\""),
            "the size 'n)' does not end where it should): compile again");
  EXPECT_EQ(changed("rows \"n\"", "rows n"), "a number is expected): compile again");
  EXPECT_EQ(changed("graph_name \"g\"", "graph_name g"),
            "a text in quotation marks is expected): compile again");
  EXPECT_EQ(changed("graph_name \"g\"", "graph_name \"\\x\""),
            "a text has an escape that is none of \\\", \\\\, \\n, \\u00XX): compile again");
  EXPECT_EQ(changed("}\n\"\"\"", "}\n\"\""),
            "a text of several lines does not end): compile again");
  EXPECT_EQ(changed("f32 [ 2 ] x", "f32 [ 3 ] x"), "an array f32[3] has 8 bytes): compile again");
  EXPECT_EQ(changed("f32 [ 2 ] x", "f32 [ -2 ] x"),
            "an array cannot have the shape [-2]): compile again");
  EXPECT_EQ(changed("f32 [ 2 ] x", "f32 [ 2 ] y"),
            "x and an even number of hexadecimal digits are expected): compile again");
}

}  // namespace
}  // namespace plait::program
