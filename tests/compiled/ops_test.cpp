// Every op of the table compiled: all samples of an op in f32 are one program, those in the other
// float dtypes another. Forward against the oracle in double precision, gradients against the
// reference backend, and the same bits on one thread, on three and between fences. Where kernels
// are emulated, several ops are one program, with two samples each.
#include "backends/backends.h"
#include "ops/table.h"
#include "tests/compiled/compiled_case.h"
#include "tests/ops/harness.h"

namespace plait::test {
namespace {

/// Ops that are tested together, under the name of the first.
struct OpGroup {
  std::string name;
  std::vector<const Op*> ops;
};

std::ostream& operator<<(std::ostream& out, const OpGroup& group) { return out << group.name; }

class EveryOp : public CompiledCase, public testing::WithParamInterface<OpGroup> {};

/// All samples, or the first and the last.
std::vector<Sample> taken_samples(const Op& op) {
  std::vector<Sample> all = samples_of(op);
  if (tested() == Tested::kEmulated && soak_seeds(0) == 0 && all.size() > 2) {
    all.erase(all.begin() + 1, all.end() - 1);
  }
  return all;
}

/// f32 and one other dtype in turn; all of them in a soak.
std::vector<DType> some_dtypes(const Op& op, const Sample& sample, std::size_t turn) {
  std::vector<DType> all = float_dtypes(op, sample);
  if (soak_seeds(0) > 0 || all.size() < 3) return all;
  std::erase(all, DType::f32);
  return {DType::f32, all[turn % all.size()]};
}

std::vector<Array> in_double(const std::vector<Array>& feeds) {
  std::vector<Array> wide;
  for (const Array& a : feeds) wide.push_back(is_float(a.dtype()) ? a.cast(DType::f64) : a);
  return wide;
}

std::vector<Array> oracle_of(const ir::Graph& graph, const std::vector<Array>& feeds) {
  const ir::Node& node = graph.nodes[0];
  std::vector<const Array*> inputs;
  std::size_t next = 0;
  for (ir::ValueId id : node.inputs) inputs.push_back(id == ir::kNone ? nullptr : &feeds[next++]);
  return oracle_result(view_of(graph, node), inputs).value();
}

/// One sample in one dtype.
struct Case {
  DType real;
  std::string text;
  ir::Graph graph;
  std::vector<Array> feeds;
};

Arrays by_name(const Case& c) {
  Arrays named;
  for (std::size_t i = 0; i < c.feeds.size(); ++i) {
    named.emplace(c.graph.value(c.graph.feeds[i]).name, c.feeds[i]);
  }
  return named;
}

/// All cases as one program, on one thread and on three: results of each, in the order of its
/// fetches. In f32 the program is one function where it can be; else it has steps, whose products
/// are the engine's.
std::vector<std::vector<Array>> run_together(const std::vector<Case>& cases) {
  std::vector<ir::Graph> graphs;
  Arrays feeds;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    graphs.push_back(cases[i].graph);
    feeds.merge(named_in(i, by_name(cases[i])));
  }
  if (cases[0].real != DType::f32) graphs.push_back(scan_graph());
  const ir::Graph all = side_by_side(graphs);
  const Arrays results = run_compiled(all, feeds, {}, 1);
  if (may_differ()) {
    EXPECT_EQ(differing_bits(results, run_compiled(all, feeds, {}, 3)), "") << "on three threads";
  }
  for (const std::string& mode : protected_modes()) {
    const Fence fence(mode);
    EXPECT_EQ(differing_bits(results, run_compiled(all, feeds, {}, 1)), "") << "fence " << mode;
  }
  std::vector<std::vector<Array>> out(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const ir::Fetch& f : cases[i].graph.fetches) {
      out[i].push_back(results.at(str("g", i, ".", f.name)));
    }
  }
  return out;
}

/// What a result may be off by, in roundings to its dtype. Where attention runs whole it multiplies
/// weights, and their gradient, that it has rounded itself: their sums cancel.
double roundings(const ir::Graph& graph, DType dtype) {
  const std::string& op = graph.nodes[0].op;
  const bool rounds = op == "attention" || op == "attention_backward";
  return rounds && (dtype == DType::f16 || dtype == DType::bf16) ? 4 : 1;
}

void check_forward(const std::vector<Case>& cases) {
  const auto results = run_together(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::vector<Array> expected = oracle_of(cases[i].graph, in_double(cases[i].feeds));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_EQ(results[i][k].dtype(), cases[i].graph.type(cases[i].graph.fetches[k].value).dtype);
      const DType dtype = results[i][k].dtype();
      EXPECT_LE(largest_error(results[i][k], expected[k]),
                tolerance(dtype) * roundings(cases[i].graph, dtype))
          << cases[i].text << ", output " << k;
    }
  }
}

TEST_P(EveryOp, ForwardAgreesWithDoublePrecision) {
  std::vector<Case> single, others;
  for (const Op* op : GetParam().ops) {
    std::size_t turn = op->name.size();
    for (const Sample& sample : taken_samples(*op)) {
      for (DType real : tested() == Tested::kEmulated ? some_dtypes(*op, sample, turn++)
                                                      : float_dtypes(*op, sample)) {
        (real == DType::f32 ? single : others)
            .push_back({real, str(op->name, ": ", sample.text, " as ", real),
                        sample_graph(*op, sample, real), sample_feeds(sample, real, 11)});
      }
    }
  }
  ASSERT_FALSE(single.empty());
  check_forward(single);  // compiled as users have it
  const QuickCompiler quick;
  if (!others.empty()) check_forward(others);
}

double largest(const Array& a) {
  double most = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) most = std::max(most, std::abs(a.real(i)));
  return most;
}

/// Gradients and what they are in double precision.
struct GradientCases {
  std::vector<Case> cases;
  std::vector<std::vector<Array>> expected;
};

/// As the reference backend is held to its own f64 (GradientsInEveryDtypeFollowDouble).
void check_gradients(const GradientCases& g) {
  const auto results = run_together(g.cases);
  for (std::size_t i = 0; i < g.cases.size(); ++i) {
    for (std::size_t k = 0; k < g.expected[i].size(); ++k) {
      const Array &got = results[i][k], &want = g.expected[i][k];
      const double scale = std::max(1.0, largest(want));
      if (scale > 1e4 && is_half(got.dtype())) continue;  // beyond what f16 holds
      ASSERT_EQ(got.sizes(), want.sizes());
      for (std::int64_t e = 0; e < got.count(); ++e) {
        EXPECT_NEAR(got.real(e), want.real(e), 32 * tolerance(got.dtype()) * scale)
            << g.cases[i].text << ", gradient " << k << " element " << e;
      }
    }
  }
}

void add_gradients(const Op& op, GradientCases& single, GradientCases& others) {
  std::size_t turn = op.name.size();
  for (const GradRule& rule : op.grads) {
    for (const Sample& sample : taken_samples(op)) {
      const auto wide = backward_graph(op, sample, rule, DType::f64);
      if (!wide) continue;
      for (DType real : some_dtypes(op, sample, turn++)) {
        GradientCases& to = real == DType::f32 ? single : others;
        to.cases.push_back(
            {real, str(op.name, ": ", sample.text, " saving '", rule.saves, "' as ", real),
             *backward_graph(op, sample, rule, real), sample_feeds(sample, real, 31)});
        to.expected.push_back(run_graph(*wide, in_double(to.cases.back().feeds)));
      }
    }
  }
}

TEST_P(EveryOp, GradientsFollowTheReferenceInDouble) {
  GradientCases single, others;
  for (const Op* op : GetParam().ops) add_gradients(*op, single, others);
  if (single.cases.empty()) GTEST_SKIP() << "it has no gradient";
  const QuickCompiler quick;
  check_gradients(single);
  if (!others.cases.empty()) check_gradients(others);
}

std::vector<OpGroup> op_groups() {
  const std::size_t together = tested() == Tested::kEmulated ? 12 : 1;
  std::vector<OpGroup> groups;
  for (const Op* op : all_ops()) {
    if (groups.empty() || groups.back().ops.size() == together) {
      groups.push_back({str(op->name, together > 1 ? "_and_on" : ""), {}});
    }
    groups.back().ops.push_back(op);
  }
  return groups;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryOp, testing::ValuesIn(op_groups()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace plait::test
