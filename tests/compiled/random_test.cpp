// Random graphs compiled against their definition: with and without fusing, on one thread and on
// several, several graphs as one program. Bits where every step is exact, else within what a few
// roundings do to the reference itself.
#include "base/text.h"
#include "ir/text.h"
#include "ops/verify.h"
#include "tests/compiled/compiled_case.h"
#include "tests/compiled/noise.h"
#include "tests/compiled/wide_graph.h"

namespace plait::test {
namespace {

class RandomGraphs : public CompiledCase {};

/// One random graph with numbers for it.
struct Case {
  std::uint64_t seed;
  ir::Graph graph;
  NamedArrays inputs;
  Expected expected;
};

/// Of every dtype and small; every second one with NaN, infinities and extremes.
Case small_case(std::uint64_t seed) {
  Case c{seed, random_graph(seed), {}, {}};
  c.inputs = random_inputs(c.graph, seed + 1, seed % 2 == 0);
  c.expected = expected_of(c.graph, c.inputs, seed + 2);
  return c;
}

/// Large enough for several tasks.
Case wide_case(std::uint64_t seed) {
  Case c{seed, wide_graph(seed), {}, {}};
  c.inputs = random_inputs(c.graph, seed + 1, false);
  c.expected = expected_of(c.graph, c.inputs, seed + 2);
  return c;
}

/// All cases as one program; results of each by name.
std::vector<NamedArrays> run_cases(const std::vector<Case>& cases, int threads, bool fuse) {
  std::vector<ir::Graph> graphs;
  Arrays feeds, states;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ir::Graph& graph = cases[i].graph;
    graphs.push_back(graph);
    Arrays own_feeds, own_states;
    for (ir::ValueId id : graph.feeds) {
      own_feeds[graph.value(id).name] = cases[i].inputs.at(graph.value(id).name);
    }
    for (const ir::StateUse& use : graph.states) {
      own_states[use.state.name] = cases[i].inputs.at(use.state.name);
    }
    feeds.merge(named_in(i, own_feeds));
    states.merge(named_in(i, own_states));
  }
  CompileRequest request;
  request.plan.fuse = fuse;
  const Arrays all = run_compiled(side_by_side(graphs), feeds, states, threads, request);
  std::vector<NamedArrays> out(cases.size());
  for (const auto& [name, array] : all) {
    const bool next = name.starts_with("next ");
    const std::string rest = next ? name.substr(5) : name;
    const std::size_t dot = rest.find('.');
    const auto i = static_cast<std::size_t>(parse_integer(rest.substr(1, dot - 1), "name"));
    out[i][(next ? "next " : "") + rest.substr(dot + 1)] = array;
  }
  return out;
}

NamedArrays only(const NamedArrays& all, const std::set<std::string>& names) {
  NamedArrays out;
  for (const auto& [name, array] : all) {
    if (names.count(name)) out.emplace(name, array);
  }
  return out;
}

struct Counts {
  std::int64_t compared = 0, open = 0;
};

void check_cases(const std::vector<Case>& cases, Counts& counts) {
  const std::vector<NamedArrays> fused = run_cases(cases, 1, true);
  const std::vector<NamedArrays> threaded = may_differ() ? run_cases(cases, 3, true) : fused;
  std::vector<NamedArrays> apart;
  {
    const QuickCompiler quick;
    apart = run_cases(cases, 2, false);
  }
  std::map<std::string, std::vector<NamedArrays>> fenced;
  for (const std::string& mode : protected_modes()) {
    const Fence fence(mode);
    fenced[mode] = run_cases(cases, 1, true);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(str("seed ", cases[i].seed, "\n", ir::print(cases[i].graph)));
    const Agreement a = agreement(cases[i].expected, fused[i]);
    EXPECT_EQ(a.first, "") << "compiled";
    counts.compared += a.compared;
    counts.open += a.open;
    EXPECT_EQ(agreement(cases[i].expected, apart[i]).first, "") << "compiled without fusing";
    EXPECT_EQ(differing_bits(fused[i], threaded[i]), "") << "on three threads";
    for (const auto& [mode, results] : fenced) {
      EXPECT_EQ(differing_bits(fused[i], results[i]), "") << "fence " << mode;
    }
    const std::set<std::string> free = order_free(cases[i].graph);
    EXPECT_EQ(difference(only(fused[i], free), only(apart[i], free)), "") << "fused and apart";
  }
}

/// A failure of the whole program is traced to the graph that causes it.
void check_batch(const std::vector<Case>& cases, Counts& counts) {
  try {
    return check_cases(cases, counts);
  } catch (const std::exception& e) {
    ADD_FAILURE() << "seeds from " << cases.front().seed << ": " << e.what();
  }
  for (const Case& c : cases) {
    try {
      check_cases({c}, counts);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "seed " << c.seed << ": " << e.what() << "\n" << ir::print(c.graph);
    }
  }
}

void check_all(Case (*make)(std::uint64_t), std::uint64_t count, std::uint64_t together) {
  Counts counts;
  for (std::uint64_t first = 0; first < count && !testing::Test::HasFailure(); first += together) {
    std::vector<Case> cases;
    for (std::uint64_t i = 0; i < together; ++i) cases.push_back(make(first + i));
    check_batch(cases, counts);
  }
  // Noise leaves little open: nearly all of what graphs compute is well-conditioned.
  EXPECT_GT(counts.compared, 50 * counts.open);
}

// The comparison itself can fail: one element off by little, or by a bit where all is exact.
TEST_F(RandomGraphs, ASmallErrorIsSeen) {
  const ir::Graph graph = ir::parse_graph(R"(graph g(x: f32[3,4]) {
    %e = exp(x)              : f32[3,4]
    %s = sum(%e, axes=[1])   : f32[3]
    %a = add(x, x)           : f32[3,4]
    return %s, %a
  })");
  const NamedArrays inputs = random_inputs(graph, 1, false);
  const Expected expected = expected_of(graph, inputs, 2);
  const NamedArrays right = evaluate_graph(graph, inputs);
  EXPECT_EQ(agreement(expected, right).first, "");
  for (const auto& [name, by] : {std::pair{"s", 1 + 3e-5}, std::pair{"a", 1 + 1.3e-7}}) {
    NamedArrays wrong = right;
    wrong.at(name).set(2, wrong.at(name).real(2) * by);
    EXPECT_NE(agreement(expected, wrong).first, "") << name;
  }
}

TEST_F(RandomGraphs, AgreeWithTheirDefinition) { check_all(small_case, soak_seeds(160), 8); }

TEST_F(RandomGraphs, OfLargeTensorsAgreeToo) { check_all(wide_case, soak_seeds(24), 4); }

}  // namespace
}  // namespace plait::test
