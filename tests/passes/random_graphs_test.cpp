// On random graphs no pass changes a bit, alone or in the pipeline, and running one twice changes
// nothing more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/text.h"
#include "ir/text.h"
#include "ops/verify.h"
#include "passes/pipeline.h"
#include "passes/simplify.h"
#include "random_graph.h"

namespace plait::test {
namespace {

/// How many graphs; more for a soak.
std::uint64_t seeds() {
  const char* given = std::getenv("PLAIT_SEEDS");
  return given ? static_cast<std::uint64_t>(parse_integer(given, "PLAIT_SEEDS")) : 400;
}

bool is_valid(const ir::Graph& graph) {
  try {
    verify_types(graph);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

/// The sizes that stand for symbols in turn.
std::vector<DimBindings> bindings(bool symbolic) {
  return symbolic ? std::vector<DimBindings>{{{"n", 1}}, {{"n", 3}}} : std::vector<DimBindings>{{}};
}

void expect_same(const ir::Graph& before, const ir::Graph& after, std::uint64_t seed,
                 bool symbolic) {
  for (const DimBindings& sizes : bindings(symbolic)) {
    const ir::Graph first = ir::substitute(before, sizes), second = ir::substitute(after, sizes);
    if (!is_valid(first)) continue;  // the largest of n - 1 elements, where n is 1
    const NamedArrays inputs = random_inputs(first, seed + 1);
    EXPECT_EQ(difference(evaluate_graph(first, inputs), evaluate_graph(second, inputs)), "");
  }
}

/// Intervals cannot tell that n*n - n is never negative, so that the verifier refuses such sizes.
bool has_provable_sizes(const ir::Graph& graph) {
  return std::all_of(graph.values.begin(), graph.values.end(), [](const ir::Value& v) {
    return std::all_of(v.type.shape.begin(), v.type.shape.end(),
                       [](const Dim& d) { return d.lo() >= 0; });
  });
}

void check_graph(std::uint64_t seed, bool symbolic, std::set<std::string>& actions) {
  const ir::Graph graph = random_graph(seed, 24, symbolic);
  if (!has_provable_sizes(graph)) return;
  SCOPED_TRACE(str("seed ", seed, "\n", ir::print(graph)));
  ASSERT_NO_THROW(verify_types(graph));
  for (const Pass& pass : pipeline()) {
    if (pass.on_request) continue;
    SCOPED_TRACE(str("pass ", pass.name));
    DecisionLog log;
    const ir::Graph once = pass.run(graph, {}, log);
    for (const LogEntry& e : log) actions.insert(e.pass + " " + e.what);
    SCOPED_TRACE(ir::print(once));
    ASSERT_NO_THROW(verify_types(once));
    expect_same(graph, once, seed, symbolic);
    EXPECT_EQ(ir::print(pass.run(once, {}, log)), ir::print(once)) << "a second time it does more";
  }
  const ir::Graph all = run_pipeline(graph).graph;
  SCOPED_TRACE("the whole pipeline gives " + ir::print(all));
  EXPECT_LE(all.nodes.size(), graph.nodes.size());
  expect_same(graph, all, seed, symbolic);
}

TEST(RandomGraphs, PassesChangeNoBit) {
  std::set<std::string> actions;
  for (std::uint64_t seed = 0; seed < seeds() && !::testing::Test::HasFailure(); ++seed) {
    check_graph(seed, false, actions);
  }
  // The graphs are rich: nearly every rule fires. Each has its own cases beside (simplify_test).
  std::size_t fired = 0;
  for (const Rule* rule : all_rules()) fired += actions.count(str("simplify ", rule->name));
  EXPECT_GE(fired * 10, all_rules().size() * 9);
  for (const char* action : {"fold folded", "fold kept", "cse merged", "dead removed"}) {
    EXPECT_TRUE(actions.count(action)) << action;
  }
}

TEST(RandomGraphs, PassesChangeNoBitOfSymbolicGraphs) {
  std::set<std::string> actions;
  for (std::uint64_t seed = 0; seed < seeds() && !::testing::Test::HasFailure(); ++seed) {
    check_graph(1000000 + seed, true, actions);
  }
}

TEST(RandomGraphs, AreTheSameEachTime) {
  EXPECT_EQ(ir::print(random_graph(7)), ir::print(random_graph(7)));
  EXPECT_EQ(ir::print(ir::parse_graph(ir::print(random_graph(7)))), ir::print(random_graph(7)));
}

}  // namespace
}  // namespace plait::test
