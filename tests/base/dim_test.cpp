// Dimensions: canonical equality, text, bounds, what is refused. dim_property_test.cpp compares
// random expressions with plain integer arithmetic.
#include "base/dim.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "tests/raises.h"

namespace plait {
namespace {

constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

const Dim a = Dim::symbol("a", 0, 100);
const Dim b = Dim::symbol("b", 1, 50);
const Dim n = Dim::symbol("n", -20, 20);

Dim parsed(std::string_view text) {
  std::size_t pos = 0;
  const Dim d = parse_dim(text, pos, [](std::string_view name) -> Dim {
    if (name == "a") return a;
    if (name == "b") return b;
    if (name == "n") return n;
    fail("unknown symbol ", name);
  });
  EXPECT_EQ(pos, text.size()) << text;
  return d;
}

TEST(Dim, EqualityIsByCanonicalForm) {
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ((a + b) * (a - b), a * a - b * b);
  EXPECT_EQ(a + a + a, 3 * a);
  EXPECT_EQ(a - a, Dim(0));
  EXPECT_EQ(2 * (a + 3) - 6, a * 2);
  EXPECT_EQ(a * b * 0, Dim(0));
  EXPECT_EQ(min(a, b), min(b, a));
  EXPECT_EQ(max(a, b), max(b, a));
  EXPECT_FALSE(a == b);
  EXPECT_FALSE(a == a + 1);
  EXPECT_FALSE(a == Dim(0));
  EXPECT_FALSE(min(a, b) == max(a, b));
  EXPECT_FALSE(floordiv(a, 2) == mod(a, 2));
}

TEST(Dim, QuotientsAndRemaindersSimplify) {
  EXPECT_EQ(floordiv(4 * a + 8, 4), a + 2);
  EXPECT_EQ(floordiv(4 * a + 3, 4), a);
  EXPECT_EQ(floordiv(4 * a + b, 4), a + floordiv(b, 4));
  EXPECT_EQ(floordiv(floordiv(a, 2), 3), floordiv(a, 6));
  EXPECT_EQ(floordiv(a * b, b), a);
  EXPECT_EQ(mod(4 * a + 8, 4), Dim(0));
  EXPECT_EQ(mod(4 * a + 3, 4), Dim(3));
  EXPECT_EQ(mod(mod(a, 12), 4), mod(a, 4));
  EXPECT_EQ(mod(mod(a, 4), 12), mod(a, 4));
  EXPECT_EQ(mod(a, 101), a);
  EXPECT_EQ(floordiv(a, 101), Dim(0));
  EXPECT_EQ(mod(a * b, b), Dim(0));
  EXPECT_EQ(ceildiv(4 * a, 4), a);
  EXPECT_EQ(ceildiv(Dim(9), 4), Dim(3));
}

TEST(Dim, NumbersRoundTowardsMinusInfinity) {
  EXPECT_EQ(floordiv(Dim(-7), 2), Dim(-4));
  EXPECT_EQ(mod(Dim(-7), 2), Dim(1));
  EXPECT_EQ(floordiv(Dim(7), 2), Dim(3));
  EXPECT_EQ(mod(Dim(-8), 2), Dim(0));
  EXPECT_EQ(floordiv(Dim(kMin64), 3), Dim(kMin64 / 3 - 1));
  EXPECT_EQ(mod(Dim(kMin64), 3), Dim(1));
  EXPECT_EQ(mod(a + kMin64, 3), mod(a + 1, 3));
  EXPECT_EQ(min(Dim(3), 4), Dim(3));
  EXPECT_EQ(max(Dim(3), 4), Dim(4));
}

TEST(Dim, MinAndMaxUseBounds) {
  const Dim big = Dim::symbol("big", 100, 200);
  EXPECT_EQ(min(a, big), a);
  EXPECT_EQ(max(a, big), big);
  EXPECT_EQ(min(a, a + 1), a);
  EXPECT_EQ(max(b, 0), b);
}

TEST(Dim, Text) {
  EXPECT_EQ(Dim(-3).text(), "-3");
  EXPECT_EQ((4 * a + 1).text(), "4*a+1");
  EXPECT_EQ((b - a).text(), "-a+b");
  EXPECT_EQ((a * a * 2 - 5).text(), "2*a*a-5");
  EXPECT_EQ(floordiv(a + 1, 2).text(), "(a+1)//2");
  EXPECT_EQ((floordiv(a, 3) + 1).text(), "(a//3)+1");
  EXPECT_EQ(mod(a, b).text(), "a%b");
  EXPECT_EQ((2 * min(a, b)).text(), "2*min(a,b)");
}

TEST(Dim, TextReadsBack) {
  for (const Dim& d : {Dim(0), Dim(kMin64), Dim(kMax64), a, -1 * a, b - a, 4 * a * b - 7,
                       floordiv(a + 1, 2), floordiv(a, 3) + 1, 5 * mod(n, b) - 1, min(a, n + b),
                       max(floordiv(a, b), mod(n, 7)), a + kMin64, kMin64 * b + a, n - kMax64}) {
    EXPECT_EQ(parsed(d.text()), d) << d;
    EXPECT_EQ(parsed(d.text()).text(), d.text());
  }
  EXPECT_EQ(parsed("-7 // 2"), Dim(-3)) << "a sign holds for the whole product";
  EXPECT_EQ(parsed("10 - 2*3 % 4"), Dim(8));
}

TEST(Dim, Bounds) {
  EXPECT_EQ((2 * a - b).lo(), -50);
  EXPECT_EQ((2 * a - b).hi(), 199);
  EXPECT_EQ(mod(n, 7).lo(), 0);
  EXPECT_EQ(mod(n, 7).hi(), 6);
  EXPECT_EQ(floordiv(n, 3).lo(), -7);
  EXPECT_EQ(floordiv(n, 3).hi(), 6);
  EXPECT_EQ(min(a, b).hi(), 50);
  EXPECT_EQ(max(a, b).lo(), 1);
  const Dim huge = Dim::symbol("huge", 0, kMax64);
  EXPECT_EQ((huge * huge).hi(), kMax64) << "saturated";
  EXPECT_EQ((-1 * huge - huge).lo(), kMin64) << "saturated";
}

TEST(Dim, SubstituteAndCollect) {
  const Dim d = floordiv(a + b, 2) * 3 + mod(n, b);
  const Dim half = d.substitute({{"a", 2 * b}, {"b", 4}});
  EXPECT_EQ(half, floordiv(2 * b + 4, 2) * 3 + mod(n, 4)) << "all at once, not one after another";
  EXPECT_EQ(evaluate(d, {{"a", 7}, {"b", 4}, {"n", -5}}), 5 * 3 + 3);
  std::map<std::string, Dim> symbols;
  d.collect_symbols(symbols);
  ASSERT_EQ(symbols.size(), 3u);
  EXPECT_EQ(symbols.at("n").lo(), -20);
  EXPECT_EQ(symbols.at("b").hi(), 50);
}

TEST(Dim, Refusals) {
  EXPECT_EQ(test::message_of([] { (a + 1).value(); }),
            "the size a+1 is symbolic where a number is needed; fix it with --set");
  EXPECT_EQ(test::message_of([] {
              evaluate(a + b, {{"a", 1}});
            }),
            "the size b+1 is symbolic where a number is needed; fix it with --set");
  EXPECT_EQ(test::message_of([] { Dim::symbol("x", 3, 2); }), "symbol x has an empty range [3, 2]");
  EXPECT_EQ(test::message_of([] { floordiv(b, a); }),
            "division of a size by a, which may be zero or negative");
  EXPECT_EQ(test::message_of([] { mod(b, 0); }),
            "remainder of a size by 0, which may be zero or negative");
  EXPECT_EQ(test::message_of([] { static_cast<void>(Dim(kMax64) + 1); }),
            "size overflows 64 bits: 9223372036854775807 + 1");
  EXPECT_EQ(test::message_of([] { static_cast<void>(kMax64 * a * 2); }),
            "size overflows 64 bits: 9223372036854775807 * 2");
}

TEST(Dim, ParseRefusals) {
  EXPECT_EQ(test::message_of([] { parsed("4+*a"); }),
            "expected a number or a symbol in a size at column 3, found '*a'");
  EXPECT_EQ(test::message_of([] { parsed("(a+1"); }),
            "expected ')' in a size at column 5, found ''");
  EXPECT_EQ(test::message_of([] { parsed("min(a)"); }),
            "expected ',' in a size at column 6, found ')'");
  EXPECT_EQ(test::message_of([] { parsed("c"); }), "unknown symbol c");
  EXPECT_EQ(test::message_of([] { parsed("9223372036854775808"); }),
            "the number '9223372036854775808' does not fit 64 bits");
  EXPECT_EQ(test::message_of([] { parsed("-92233720368547758080"); }),
            "the number '92233720368547758080' does not fit 64 bits");
  EXPECT_EQ(test::message_of([] { parsed(std::string(40, '7')); }),
            "the number '77777777777777777777777777777777...' does not fit 64 bits");
  EXPECT_EQ(test::message_of([] { parsed(std::string(100, '(')); }),
            "a size expression is nested more than 64 deep");
}

TEST(Dim, GrowthIsBounded) {
  std::string chain = "a", product = "a";
  for (int i = 0; i < 100000; ++i) chain += "%b";
  for (int i = 0; i < 100000; ++i) product += "*a";
  EXPECT_EQ(test::message_of([&] { parsed(chain); }),
            "a size expression is longer than 4096 characters: "
            "((((((((((((((((((((((((((((((((((((((((...");
  EXPECT_EQ(test::message_of([&] { parsed(product); }),
            "a size expression is longer than 4096 characters: "
            "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*...");
  Dim d = 1;
  EXPECT_EQ(test::message_of([&] {
              for (int i = 0; i < 40; ++i) {
                d = d * (Dim::symbol("x" + std::to_string(i), 0, 9) + 1);
              }
            }).substr(0, 41),
            "a size expression is longer than 4096 cha");
  Dim sum = 0;
  for (int i = 0; i < 80; ++i) sum = sum + Dim::symbol("s" + std::to_string(i), 0, 9);
  EXPECT_EQ(test::message_of([&] { static_cast<void>(sum * sum); }),
            "a product of two sizes has more than 4096 terms");
  EXPECT_EQ(parsed("(a+1)*(b+1)*(n+1)").terms().size(), 7u);
}

}  // namespace
}  // namespace plait
