// Every rule on its cases, and what simplify promises beside them.
#include <set>

#include "ops/verify.h"
#include "rule_case.h"
#include "tests/passes/random_graph.h"

namespace plait::test {
namespace {

/// Bit for bit, on zeros of both signs, infinities, NaN and extremes too.
void expect_same_results(const ir::Graph& before, const ir::Graph& after) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const NamedArrays inputs = random_inputs(before, seed);
    EXPECT_EQ(difference(evaluate_graph(before, inputs), evaluate_graph(after, inputs)), "");
  }
}

void expect_case(const RuleCase& c) {
  const std::string head = str("graph g(", c.feeds, ") {\n");
  const std::string before = str(head, c.before, "\n}");
  const std::string after = c.after.empty() ? before : str(head, c.after, "\n}");
  SCOPED_TRACE(before);
  const ir::Graph source = ir::parse_graph(before);
  ASSERT_NO_THROW(verify_types(source));
  DecisionLog log;
  const ir::Graph graph = simplify(source, log);
  ASSERT_NO_THROW(verify_types(graph));
  std::set<std::string_view> fired;
  for (const LogEntry& e : log) fired.insert(e.what);
  if (c.rule.empty()) {
    EXPECT_TRUE(fired.empty()) << *fired.begin() << " fired";
  } else {
    EXPECT_TRUE(fired.count(c.rule)) << c.rule << " did not fire";
  }
  EXPECT_EQ(ir::print(remove_dead(graph, log)), normal(after));
  expect_same_results(source, graph);
}

TEST(Simplify, ValueRules) {
  for (const RuleCase& c : value_cases()) expect_case(c);
}

TEST(Simplify, ShapeRules) {
  for (const RuleCase& c : shape_cases()) expect_case(c);
}

TEST(Simplify, EveryRuleHasACase) {
  std::set<std::string_view> covered, names;
  for (const RuleCase& c : value_cases()) covered.insert(c.rule);
  for (const RuleCase& c : shape_cases()) covered.insert(c.rule);
  for (const Rule* rule : all_rules()) {
    EXPECT_TRUE(names.insert(rule->name).second) << "two rules are named " << rule->name;
    EXPECT_TRUE(covered.count(rule->name)) << rule->name << " has no case";
    EXPECT_FALSE(rule->doc.empty()) << rule->name;
  }
}

// Names, paths and sources stay, a fetch keeps its name, and each firing says what became of what.
TEST(Simplify, RunsToAFixedPointAndSaysSo) {
  expect_pass(simplify, R"(
    graph g(x: f32[2,3]) state(w: f32[2,3]) {
      %o = constant(value=f32[]{1.0})     : f32[]
      %a = broadcast_to(%o, shape=[2,3])  : f32[2,3]
      %b = mul(x, %a)                     : f32[2,3] @ 0
      %c = neg(%b)                        : f32[2,3]
      %d = neg(%c)                        : f32[2,3]
      %e = neg(%d)                        : f32[2,3] @ 1 (m.cpp:7)
      %f = add(w, %e)                     : f32[2,3] @ 2 (m.cpp:8)
      next w = %d
      return %f, %d
    })",
              R"(
    graph g(x: f32[2,3]) state(w: f32[2,3]) {
      %o = constant(value=f32[]{1.0})     : f32[]
      %a = broadcast_to(%o, shape=[2,3])  : f32[2,3]
      %c = neg(x)                         : f32[2,3]
      %e = neg(x)                         : f32[2,3] @ 1 (m.cpp:7)
      %f = sub(w, x)                      : f32[2,3] @ 2 (m.cpp:8)
      next w = x
      return %f, d = x
    })",
              "%b @ 0: mul_one: mul(x, %a) becomes x\n"
              "%d: neg_neg: neg(%c) becomes x\n"
              "%f @ 2 (m.cpp:8): add_neg: add(w, %e) becomes sub(w, x)\n");
}

TEST(Simplify, WorksOnSymbolicSizes) {
  expect_pass(simplify, R"(
    symbol n = 1..64
    graph g(x: f32[n,3]) {
      %a = reshape(x, shape=[3*n])                          : f32[3*n]
      %b = reshape(%a, shape=[n,3])                         : f32[n,3]
      %c = slice(%b, axes=[0], starts=[0], stops=[n])       : f32[n,3]
      %d = slice(%c, axes=[0], starts=[0], stops=[1])       : f32[min(1,n),3]
      return %c
    })",
              R"(
    symbol n = 1..64
    graph g(x: f32[n,3]) {
      %a = reshape(x, shape=[3*n])                          : f32[3*n]
      %d = slice(x, axes=[0], starts=[0], stops=[1])        : f32[min(1,n),3]
      return c = x
    })",
              "%b: reshape_reshape: reshape(%a, shape=[n,3]) becomes reshape(x, shape=[n,3])\n"
              "%b: reshape_same: reshape(x, shape=[n,3]) becomes x\n"
              "%c: slice_all: slice(x, axes=[0], starts=[0], stops=[n]) becomes x\n");
}

// A copy to another place moves data; nothing else stands for what it gives.
TEST(Simplify, RespectsPlaces) {
  expect_pass(simplify, R"(
    graph g(x: f32[4] on cpu[0,1](S(0))) {
      %a = copy(x)   : f32[4] on cpu[0,1](S(0))
      %b = copy(%a)  : f32[4] on cpu[0,1](B)
      %c = neg(%b)   : f32[4] on cpu[0,1](B)
      %d = sub(%b, %c)  : f32[4] on cpu[0,1](B)
      return %d
    })",
              R"(
    graph g(x: f32[4] on cpu[0,1](S(0))) {
      %b = copy(x)   : f32[4] on cpu[0,1](B)
      %c = neg(%b)   : f32[4] on cpu[0,1](B)
      %d = sub(%b, %c)  : f32[4] on cpu[0,1](B)
      return %d
    })",
              "%a: copy: copy(x) becomes x\n");
}

TEST(Simplify, LeavesOpaqueNodes) {
  const char* text = R"(
    graph g(x: f32[4]) {
      %a = opaque "copy"(x)   : f32[4]
      %b = opaque "neg"(%a)   : f32[4]
      %c = neg(%b)            : f32[4]
      return %c
    })";
  expect_pass(simplify, text, text, "");
}

}  // namespace
}  // namespace plait::test
