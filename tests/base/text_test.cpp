// Text as people read it, numbers that read back exactly, and how errors are raised.
#include "base/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "tests/raises.h"

namespace plait {
namespace {

TEST(Text, WithCommas) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(94803968), "94,803,968");
  EXPECT_EQ(with_commas(-100), "-100");
  EXPECT_EQ(with_commas(-123456), "-123,456");
  EXPECT_EQ(with_commas(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, Counted) {
  EXPECT_EQ(counted(1, "axis", "axes"), "1 axis");
  EXPECT_EQ(counted(0, "axis", "axes"), "0 axes");
  EXPECT_EQ(counted(2, "axis", "axes"), "2 axes");
  EXPECT_EQ(counted(1234, "axis", "axes"), "1,234 axes");
}

TEST(Text, Bytes) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1,000 (1.0 kB)");
  EXPECT_EQ(bytes_text(999949), "999,949 (999.9 kB)");
  EXPECT_EQ(bytes_text(999999), "999,999 (1.0 MB)") << "never 1000.0 kB";
  EXPECT_EQ(bytes_text(574668960), "574,668,960 (574.7 MB)");
  EXPECT_EQ(bytes_text(3'000'000'000), "3,000,000,000 (3.0 GB)");
  EXPECT_EQ(bytes_text(-1500), "-1,500 (-1.5 kB)");
}

TEST(Text, RealsLookReal) {
  EXPECT_EQ(real_text(1), "1.0");
  EXPECT_EQ(real_text(-0.0), "-0.0");
  EXPECT_EQ(real_text(0.1), "0.1");
  EXPECT_EQ(real_text(1e-5), "1e-05");
  EXPECT_EQ(real_text(1e100), "1e+100");
  EXPECT_EQ(real_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(real_text(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(real_text(-std::nan("")), "nan");
}

TEST(Text, RealsReadBackExactly) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::bit_cast<double>(random());
    if (std::isnan(x)) continue;
    const std::string text = real_text(x);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(parse_real(text, "x")), std::bit_cast<std::uint64_t>(x))
        << text;
    ASSERT_NE(text.find_first_of(".ein"), std::string::npos) << text;
  }
}

TEST(Text, SplitTrimJoinQuote) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
  EXPECT_EQ(split("a,", ','), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(quoted("a\"b\\c\nd\te"), "\"a\\\"b\\\\c\\nd\te\"");
  EXPECT_EQ(quoted("\x1b[31m\r\x7f\xc3\xa9"), "\"\\u001b[31m\\u000d\\u007f\xc3\xa9\"");
}

TEST(Text, NearestWord) {
  const std::vector<std::string> ops{"relu", "gelu", "sigmoid", "softmax"};
  EXPECT_EQ(nearest("sigmod", ops), "sigmoid");
  EXPECT_EQ(nearest("rely", ops), "relu");
  EXPECT_EQ(nearest("sotfmax", ops), "softmax");
  EXPECT_EQ(nearest("convolution", ops), "");
  EXPECT_EQ(nearest("relu", {}), "");
  EXPECT_EQ(nearest(std::string(100000, 'x'), {std::string(100000, 'x')}), "");
  EXPECT_EQ(suggestion("gleu", {"gelu", "relu"}), " Did you mean 'gelu'?");
  EXPECT_EQ(suggestion("convolution", ops), "");
}

TEST(Text, WholeNumbersAndReals) {
  EXPECT_EQ(parse_integer("-42", "steps"), -42);
  EXPECT_EQ(parse_real("-inf", "lr"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_real("3", "lr"), 3.0);
  EXPECT_EQ(test::message_of([] { parse_integer("4x", "steps"); }),
            "steps must be a whole number, not '4x'");
  EXPECT_EQ(test::message_of([] { parse_integer("", "steps"); }),
            "steps must be a whole number, not ''");
  EXPECT_EQ(test::message_of([] { parse_integer("9223372036854775808", "steps"); }),
            "steps must be a whole number, not '9223372036854775808'");
  EXPECT_EQ(test::message_of([] { parse_real("1e-3 ", "lr"); }),
            "lr must be a number, not '1e-3 '");
}

TEST(Text, Table) {
  const Table table{{"name", "bytes"}, {false, true}, {{"a", "12"}, {"long", "3"}, {"alone"}}};
  EXPECT_EQ(table.text(),
            "name   bytes\n"
            "a         12\n"
            "long       3\n"
            "alone\n");
  EXPECT_EQ((Table{{}, {}, {{"x", "y"}}}).text(), "x  y\n");
  EXPECT_EQ(Table{}.text(), "");
}

TEST(Error, CheckNamesItsLine) {
  EXPECT_NO_THROW(check(true, "never"));
  const int line = __LINE__ + 2;
  try {
    check(1 + 1 == 3, "sum is ", 2);
    FAIL() << "no error";
  } catch (const Bug& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.rfind("sum is 2 (", 0), 0u) << text;
    EXPECT_NE(text.find(str("text_test.cpp:", line, ")")), std::string::npos) << text;
  }
}

TEST(Error, Decisions) {
  EXPECT_TRUE(Decision::allow());
  const Decision no = Decision::forbid("shapes differ");
  EXPECT_FALSE(no);
  EXPECT_EQ(no.why, "shapes differ");
  EXPECT_EQ(test::message_of([] { fail("x is ", 3); }), "x is 3");
}

}  // namespace
}  // namespace plait
