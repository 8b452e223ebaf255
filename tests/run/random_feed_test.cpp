// Random feeds: indices stay within what they index, whatever way they take there.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ir/text.h"
#include "run/session.h"

namespace plait {
namespace {

/// A graph with the feeds `i: i64[500]` and `table: f32[7,3]`.
ir::Graph graph(const std::string& body) {
  return ir::parse_graph("graph g(i: i64[500], table: f32[7,3]) {\n" + body + "\n}");
}

/// How many different values are drawn; all must be below it.
std::int64_t values_drawn(const ir::Graph& g) {
  const Array a = random_feed(g, g.feeds[0], 1);
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < a.count(); ++i) seen.insert(a.integer(i));
  EXPECT_GE(*seen.begin(), 0);
  EXPECT_LT(*seen.rbegin(), static_cast<std::int64_t>(seen.size()));
  return static_cast<std::int64_t>(seen.size());
}

TEST(RandomFeed, FloatsAreUniformInMinusOneToOne) {
  const ir::Graph g = ir::parse_graph("graph g(x: f32[1000]) {\n return x\n}");
  const Array a = random_feed(g, g.feeds[0], 1);
  double least = 1, most = -1;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    least = std::min(least, a.real(i));
    most = std::max(most, a.real(i));
  }
  EXPECT_GE(least, -1);
  EXPECT_LT(least, -0.9);
  EXPECT_LT(most, 1);
  EXPECT_GT(most, 0.9);
}

TEST(RandomFeed, DependsOnSeedAndName) {
  const ir::Graph g = ir::parse_graph("graph g(x: f32[9], y: f32[9]) {\n return x, y\n}");
  const Array a = random_feed(g, g.feeds[0], 1);
  EXPECT_TRUE(a.same_bits(random_feed(g, g.feeds[0], 1)));
  EXPECT_FALSE(a.same_bits(random_feed(g, g.feeds[0], 2)));
  EXPECT_FALSE(a.same_bits(random_feed(g, g.feeds[1], 1)));
}

TEST(RandomFeed, NumbersThatIndexNothingAreZeroOrOne) {
  EXPECT_EQ(values_drawn(graph("%y = add(i, i) : i64[500]\n return %y")), 2);
}

TEST(RandomFeed, BoolsAreBoth) {
  const ir::Graph g = ir::parse_graph("graph g(x: bool[100]) {\n return x\n}");
  EXPECT_EQ(values_drawn(g), 2);
}

TEST(RandomFeed, AnEmbeddingsIndicesStayInItsTable) {
  EXPECT_EQ(values_drawn(graph("%y = embedding(table, i) : f32[500,3]\n return %y")), 7);
}

TEST(RandomFeed, ThroughViewsAndCasts) {
  EXPECT_EQ(values_drawn(graph("%r = reshape(i, shape=[20,25]) : i64[20,25]\n"
                               "%c = cast(%r, dtype=i32) : i32[20,25]\n"
                               "%t = transpose(%c, order=[1,0]) : i32[25,20]\n"
                               "%y = embedding(table, %t) : f32[25,20,3]\n return %y")),
            7);
}

TEST(RandomFeed, TheSmallestOfSeveralBounds) {
  EXPECT_EQ(values_drawn(graph("%y = embedding(table, i) : f32[500,3]\n"
                               "%t = transpose(table, order=[1,0]) : f32[3,7]\n"
                               "%z = embedding(%t, i) : f32[500,7]\n return %y, %z")),
            3);
}

TEST(RandomFeed, TheTargetsOfACompositeLoss) {
  const ir::Graph g = ir::parse_graph(R"(graph g(i: i64[500], logits: f32[500,11]) {
    %y = cross_entropy(logits, i) : f32[]
    return %y
  })");
  EXPECT_EQ(values_drawn(g), 11);
}

TEST(RandomFeed, SmallDtypesAreNotOverrun) {
  const ir::Graph g = ir::parse_graph(R"(graph g(i: i8[500], table: f32[1000,1]) {
    %c = cast(i, dtype=i64)    : i64[500]
    %y = embedding(table, %c)  : f32[500,1]
    return %y
  })");
  const Array a = random_feed(g, g.feeds[0], 1);
  for (std::int64_t i = 0; i < a.count(); ++i) EXPECT_GE(a.integer(i), 0);
}

}  // namespace
}  // namespace plait
