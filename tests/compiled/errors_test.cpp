// What a compiled program says when it cannot run or goes wrong, and what it leaves behind.
#include "ir/text.h"
#include "tests/compiled/compiled_case.h"
#include "tests/raises.h"

namespace plait::test {
namespace {

class Errors : public CompiledCase {
 protected:
  static Session session(const std::string& text, int threads = 2) {
    return Session(ir::parse(text), target_under_test(threads));
  }
  static Array indices(const std::vector<double>& values) {
    return Array::of(DType::i64, {static_cast<std::int64_t>(values.size())}, values);
  }
  template <class E>
  static std::string error_of(Session& s, const Arrays& feeds) {
    return message_of<E>([&] { s.run({"", feeds, {}}); });
  }
};

TEST_F(Errors, AnIndexOutOfRange) {
  Session s = session(R"(graph look(i: i64[3]) state(table: f32[4,2] = ones) {
    %rows = gather(table, i) : f32[3,2] @ embed
    return %rows
  })");
  for (const auto& bad : {indices({0, 4, 1}), indices({-1, 0, 0}), indices({0, 0, 1e18})}) {
    EXPECT_TRUE(error_of<RunError>(s, {{"i", bad}}).starts_with("an index is out of range ("));
  }
  EXPECT_EQ(s.run({"", {{"i", indices({0, 3, 1})}}, {}}).at("rows").real(2), 1) << "and goes on";
  EXPECT_EQ(s.state("table").real(7), 1);
}

TEST_F(Errors, AnIndexOutOfRangeInAStepOfItsOwn) {
  // A scan is written by hand, so that the program is not one function.
  Session s = session(R"(graph g(i: i64[3], x: f32[5]) state(table: f32[4,2] = ones) {
    %rows = gather(table, i) : f32[3,2] @ embed
    %c = cumsum(x) : f32[5]
    return %rows, %c
  })");
  const std::string said =
      error_of<RunError>(s, {{"i", indices({0, 4, 1})}, {"x", Array(DType::f32, {5})}});
  EXPECT_TRUE(said.starts_with("an index is out of range (%rows @ embed, kernel loop.")) << said;
}

TEST_F(Errors, AnIndexOutOfRangeOfAScatter) {
  Session s = session(R"(graph g(i: i64[2], u: f32[2]) state(into: f32[4] = ones) {
    %sum = scatter_add(into, i, u) : f32[4]
    next into = %sum
    return %sum
  })");
  const Array u(DType::f32, {2});
  const bool cpu = tested() == Tested::kCpu;
  EXPECT_EQ(error_of<RunError>(s, {{"i", indices({1, 9})}, {"u", u}}),
            str(cpu ? "index 9 is outside [0, 4)" : "an index is out of range",
                " (%sum, kernel hand.scatter_add)"));
}

TEST_F(Errors, IntegerDivisionByZero) {
  for (const char* op : {"floor_div", "mod"}) {
    Session s = session(
        str("graph g(a: i32[3], b: i32[3]) {\n %q = ", op, "(a, b) : i32[3]\n return %q\n}"));
    const Array a = Array::of(DType::i32, {3}, {7, -7, 5});
    const Array good = Array::of(DType::i32, {3}, {2, 2, -1}), bad(DType::i32, {3});
    EXPECT_TRUE(
        error_of<RunError>(s, {{"a", a}, {"b", bad}}).starts_with("integer division by zero"))
        << op;
    EXPECT_EQ(s.run({"", {{"a", a}, {"b", good}}, {}}).at("q").integer(1),
              std::string_view(op) == "mod" ? 1 : -4);
  }
}

// The kernel goes on behind the division, and is known by its last node.
TEST_F(Errors, DivisionByZeroInAFusedKernelNamesTheDivision) {
  const Array a = Array::of(DType::i64, {3}, {7, -7, 5}), zero(DType::i64, {3});
  const Arrays feeds{{"a", a}, {"b", zero}, {"x", Array(DType::f32, {5})}};
  const std::string fused = R"(
    %q = floor_div(a, b)  : i64[3] @ halve
    %d = add(%q, a)       : i64[3] @ after
    %e = mul(%d, %d)      : i64[3]
    return %e)";
  Session whole = session("graph g(a: i64[3], b: i64[3], x: f32[5]) {" + fused + "\n}");
  const bool cpu = tested() == Tested::kCpu;
  const std::string said = error_of<RunError>(whole, feeds);
  EXPECT_TRUE(said.starts_with("integer division by zero (%q @ halve, ")) << said;
  EXPECT_TRUE(!cpu || said.ends_with("in g)")) << said;
  Session steps = session("graph g(a: i64[3], b: i64[3], x: f32[5]) {\n %c = cumsum(x) : f32[5]" +
                          fused + ", %c\n}");
  EXPECT_TRUE(error_of<RunError>(steps, feeds)
                  .starts_with("integer division by zero (%q @ halve, kernel loop."));
  Session two = session(R"(graph g(a: i64[3], b: i64[3], x: f32[5]) {
    %c = cumsum(x)        : f32[5]
    %q = floor_div(a, b)  : i64[3] @ halve
    %r = mod(%q, b)       : i64[3]
    %e = mul(%r, %r)      : i64[3]
    return %e, %c
  })");
  EXPECT_TRUE(error_of<RunError>(two, feeds)
                  .starts_with("integer division by zero (one of %q @ halve, %r, kernel loop."));
}

TEST_F(Errors, DivisionOfFloatsByZeroIsNone) {
  Session s = session("graph g(a: f32[2], b: f32[2]) {\n %q = div(a, b) : f32[2]\n return %q\n}");
  const Array one = Array::of(DType::f32, {2}, {1, -1}), zero(DType::f32, {2});
  const Array q = s.run({"", {{"a", one}, {"b", zero}}, {}}).at("q");
  EXPECT_EQ(q.real(0), HUGE_VAL);
  EXPECT_EQ(q.real(1), -HUGE_VAL);
}

TEST_F(Errors, OpaqueNodesAreRefusedByName) {
  const std::string text = R"(graph g(x: f32[2]) {
    %y = opaque "Fancy"(x) : f32[2] @ blocks.1
    %z = neg(x) : f32[2]
    return %y, %z
  })";
  Session s = session(text);
  const Arrays given{{"x", Array::of(DType::f32, {2}, {1, 2})}};
  EXPECT_EQ(error_of<UserError>(s, given),
            "[Fancy] cannot be run: Plait lacks it, or this form of it (%y @ blocks.1)");
  EXPECT_EQ(s.run({"", given, {"z"}}).at("z").real(1), -2);  // nothing asked for needs it
}

TEST_F(Errors, FeedsAreCheckedAsOnTheReference) {
  Session s = session("graph g(x: f32[2], n: i64[]) {\n %y = neg(x) : f32[2]\n return %y\n}");
  const Array x(DType::f32, {2}), n(DType::i64, {});
  EXPECT_EQ(error_of<UserError>(s, {{"x", Array(DType::f32, {3})}, {"n", n}}),
            "feed 'x' is f32[3], the graph wants f32[2]");
  EXPECT_EQ(error_of<UserError>(s, {{"x", Array(DType::f64, {2})}, {"n", n}}),
            "feed 'x' is f64[2], the graph wants f32[2]");
  EXPECT_EQ(error_of<UserError>(s, {{"x", x}}), "feed 'n' (i64[]) of graph g is not given");
  EXPECT_EQ(error_of<UserError>(s, {{"x", x}, {"n", n}, {"m", n}}),
            "graph g has no feed 'm'. Did you mean 'x'? Its feeds are x, n");
  EXPECT_EQ(s.run({"", {{"x", x}, {"n", n}}, {}}).size(), 1u);
}

TEST_F(Errors, ARefusedFeedLeavesTheStates) {
  Session s = session(R"(graph g(x: f32[2]) state(w: f32[2] = ones) {
    %y = add(w, x) : f32[2]
    next w = %y
    return %y
  })");
  const Array x = Array::of(DType::f32, {2}, {1, 2});
  s.run({"", {{"x", x}}, {}});
  error_of<UserError>(s, {{"x", Array(DType::f32, {3})}});
  EXPECT_EQ(s.state("w").real(1), 3);
  s.run({"", {{"x", x}}, {}});
  EXPECT_EQ(s.state("w").real(1), 5);
}

// A failed run on the reference leaves the states; compiled, what was written in place before the
// failure stays. Setting them makes the session whole again.
TEST_F(Errors, AfterAFailedRunStatesCanBeSetAgain) {
  Session s = session(R"(graph g(i: i64[2]) state(w: f32[3] = ones) {
    %rows = gather(w, i) : f32[2]
    %more = add(w, w) : f32[3]
    next w = %more
    return %rows
  })");
  error_of<RunError>(s, {{"i", indices({0, 3})}});
  s.set_state("w", Array::of(DType::f32, {3}, {1, 2, 3}));
  EXPECT_EQ(s.run({"", {{"i", indices({0, 2})}}, {}}).at("rows").real(1), 3);
  EXPECT_EQ(s.state("w").real(2), 6);
}

}  // namespace
}  // namespace plait::test
