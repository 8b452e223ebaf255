// Runs the op harness over the whole table: one test per op and kind of check.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/backends.h"
#include "base/philox.h"
#include "base/text.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "tests/ops/harness.h"

namespace plait {
namespace {

class EveryOp : public testing::TestWithParam<const Op*> {
 protected:
  const Op& op() const { return *GetParam(); }
};

std::vector<const Array*> operands_of(const ir::Node& node, const std::vector<Array>& feeds) {
  std::vector<const Array*> inputs;
  std::size_t next = 0;
  for (ir::ValueId id : node.inputs) inputs.push_back(id == ir::kNone ? nullptr : &feeds[next++]);
  return inputs;
}

TEST_P(EveryOp, EntryIsComplete) {
  EXPECT_FALSE(op().samples.empty()) << "an op without samples is not tested";
  EXPECT_NE(op().infer, nullptr);
  const int ways = (op().scalar != nullptr) + (op().nest != nullptr) + (op().decompose != nullptr) +
                   (op().eval != nullptr);
  EXPECT_EQ(ways, 1) << "an op computes in exactly one way";
  EXPECT_EQ((op().traits & kElementwise) != 0, op().scalar != nullptr);
  if (op().eval && !op().inputs.empty()) {
    EXPECT_NE(op().operations, nullptr) << "uncounted";
  }
}

TEST_P(EveryOp, ForwardAgreesWithDoublePrecision) {
  for (const Sample& sample : samples_of(op())) {
    for (DType real : float_dtypes(op(), sample)) {
      SCOPED_TRACE(str(sample.text, " as ", real));
      const ir::Graph graph = sample_graph(op(), sample, real);
      ir::verify(graph);
      const std::vector<Array> feeds = sample_feeds(sample, real, 11);
      const std::vector<Array> results = run_graph(graph, feeds);
      std::vector<Array> wide;
      for (const Array& a : feeds) wide.push_back(is_float(a.dtype()) ? a.cast(DType::f64) : a);
      const ir::Node& node = graph.nodes[0];
      const auto expected = oracle_result(view_of(graph, node), operands_of(node, wide));
      ASSERT_TRUE(expected) << op().name << " has neither `exact` nor an oracle";
      ASSERT_EQ(expected->size(), results.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        EXPECT_LE(largest_error(results[i], (*expected)[i]), tolerance(results[i].dtype()))
            << "output " << i;
      }
    }
  }
}

/// f at feeds moved by `step` along one direction.
double moved(const ir::Graph& f, std::vector<Array> feeds, int feed,
             const std::vector<double>& direction, double step) {
  Array& x = feeds[static_cast<std::size_t>(feed)];
  for (std::int64_t i = 0; i < x.count(); ++i) {
    x.set(i, x.real(i) + step * direction[static_cast<std::size_t>(i)]);
  }
  return run_graph(f, feeds)[0].real(0);
}

double slope(const ir::Graph& f, const std::vector<Array>& feeds, int feed,
             const std::vector<double>& direction) {
  constexpr double kStep = 1e-5;
  return (moved(f, feeds, feed, direction, kStep) - moved(f, feeds, feed, direction, -kStep)) /
         (2 * kStep);
}

/// Every element (at most 40 of a feed) by central differences, then a random direction: the
/// dot-product test <J v, c> = <v, J^T c>.
void expect_gradient(const ir::Graph& f, const std::vector<Array>& feeds, int feed,
                     const Array& gradient) {
  const auto count = static_cast<std::size_t>(gradient.count());
  const std::size_t stride = count / 40 + 1;
  for (std::size_t i = 0; i < count; i += stride) {
    std::vector<double> unit(count, 0.0);
    unit[i] = 1;
    const double got = gradient.real(static_cast<std::int64_t>(i));
    const double expected = slope(f, feeds, feed, unit);
    EXPECT_NEAR(got, expected, 2e-6 * std::max(1.0, std::abs(expected)))
        << "feed " << feed << " element " << i;
  }
  std::vector<double> direction(count);
  double dot = 0;
  for (std::size_t i = 0; i < count; ++i) {
    direction[i] = 2 * random_uniform({5, static_cast<std::uint64_t>(feed), 9}, i) - 1;
    dot += direction[i] * gradient.real(static_cast<std::int64_t>(i));
  }
  const double along = slope(f, feeds, feed, direction);
  EXPECT_NEAR(dot, along, 2e-6 * std::max(1.0, std::abs(along))) << "dot product, feed " << feed;
}

TEST_P(EveryOp, GradientsAgreeWithCentralDifferences) {
  for (const GradRule& rule : op().grads) {
    for (const Sample& sample : samples_of(op())) {
      SCOPED_TRACE(str(sample.text, " saving '", rule.saves, "'"));
      const auto c = gradient_case(op(), sample, rule);
      if (!c) continue;
      const std::vector<Array> feeds = sample_feeds(sample, DType::f64, 23);
      const std::vector<Array> grads = run_graph(c->backward, feeds);
      for (std::size_t i = 0; i < c->wrt.size(); ++i) {
        expect_gradient(c->forward, feeds, c->wrt[i], grads[i]);
      }
    }
  }
}

TEST_P(EveryOp, GradientsOfGradientsAgreeToo) {
  for (const GradRule& rule : op().grads) {
    for (const Sample& sample : samples_of(op())) {
      SCOPED_TRACE(str(sample.text, " saving '", rule.saves, "'"));
      const auto c = gradient_case(op(), sample, rule);
      if (!c) continue;
      if (!c->no_second.empty()) {
        GTEST_SKIP() << "no second gradient: " << c->no_second;
      }
      const std::vector<Array> feeds = sample_feeds(sample, DType::f64, 29);
      const std::vector<Array> results = run_graph(c->second, feeds);
      ir::Graph dot = c->second;
      dot.fetches.resize(1);
      for (std::size_t i = 0; i < c->wrt.size(); ++i) {
        const Array& g = results[i + 1];
        std::vector<double> direction(static_cast<std::size_t>(g.count()));
        double along = 0;
        for (std::size_t k = 0; k < direction.size(); ++k) {
          direction[k] = 2 * random_uniform({6, i, 9}, k) - 1;
          along += direction[k] * g.real(static_cast<std::int64_t>(k));
        }
        const double expected = slope(dot, feeds, c->wrt[i], direction);
        EXPECT_NEAR(along, expected, 5e-6 * std::max(1.0, std::abs(expected))) << "feed " << i;
      }
    }
  }
}

double largest(const Array& a) {
  double most = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) most = std::max(most, std::abs(a.real(i)));
  return most;
}

/// A gradient in a small dtype follows the one in f64 from the same (rounded) operands, to a few
/// dozen roundings of that dtype, relative to the tensor's largest value.
TEST_P(EveryOp, GradientsInEveryDtypeFollowDouble) {
  for (const GradRule& rule : op().grads) {
    for (const Sample& sample : samples_of(op())) {
      for (DType real : float_dtypes(op(), sample)) {
        SCOPED_TRACE(str(sample.text, " saving '", rule.saves, "' as ", real));
        const auto wide_graph = backward_graph(op(), sample, rule, DType::f64);
        if (!wide_graph || real == DType::f64) continue;
        const auto graph = backward_graph(op(), sample, rule, real);
        const std::vector<Array> feeds = sample_feeds(sample, real, 31);
        std::vector<Array> wide;
        for (const Array& a : feeds) wide.push_back(is_float(a.dtype()) ? a.cast(DType::f64) : a);
        const std::vector<Array> expected = run_graph(*wide_graph, wide);
        const std::vector<Array> grads = run_graph(*graph, feeds);
        for (std::size_t i = 0; i < grads.size(); ++i) {
          EXPECT_EQ(grads[i].dtype(), real);
          const double scale = std::max(1.0, largest(expected[i]));
          if (scale > 1e4) continue;  // beyond what f16 holds
          for (std::int64_t e = 0; e < grads[i].count(); ++e) {
            EXPECT_NEAR(grads[i].real(e), expected[i].real(e), 32 * tolerance(real) * scale)
                << "gradient " << i << " element " << e;
          }
        }
      }
    }
  }
}

TEST_P(EveryOp, RulesReadWhatTheySayTheySave) {
  for (const GradRule& rule : op().grads) {
    std::set<std::string> declared;
    for (const std::string& name : split(rule.saves, ',')) {
      if (!name.empty()) declared.insert(name);
    }
    std::set<std::string> read;
    for (const Sample& sample : samples_of(op())) {
      if (const auto c = gradient_case(op(), sample, rule)) {
        read.insert(c->reads.begin(), c->reads.end());
      }
    }
    EXPECT_EQ(declared, read) << op().name;
  }
}

TEST_P(EveryOp, PrintsAndParses) {
  for (const Sample& sample : samples_of(op())) {
    for (DType real : float_dtypes(op(), sample)) {
      ir::Graph graph = sample_graph(op(), sample, real);
      // Printing and parsing keep every node of every op.
      EXPECT_EQ(ir::print(ir::parse_graph(ir::print(graph))), ir::print(graph));
    }
  }
}

/// Equal sizes become one symbol; where inference accepts them, fixing the symbols must give what
/// inference gives on numbers.
TEST_P(EveryOp, SymbolicSizesInferTheSameTypes) {
  for (const Sample& sample : samples_of(op())) {
    SCOPED_TRACE(sample.text);
    Sample symbolic = sample;
    DimBindings numbers;
    for (SampleOperand& o : symbolic.operands) {
      for (Dim& d : o.type.shape) {
        if (!d.is_const() || d.value() < 2) continue;
        const std::string name = str("s", d.value());
        numbers.emplace(name, d);
        d = Dim::symbol(name, 1, 64);
      }
    }
    ir::Graph graph;
    try {
      graph = sample_graph(op(), symbolic);
    } catch (const UserError&) {
      continue;  // attributes state numbers that a symbol need not have
    }
    const ir::Graph fixed = ir::substitute(graph, numbers);
    const ir::Graph direct = sample_graph(op(), sample);
    EXPECT_EQ(ir::print(fixed), ir::print(direct));
    const Dim operations = operations_of(graph, graph.nodes[0]).substitute(numbers);
    EXPECT_EQ(operations, operations_of(direct, direct.nodes[0])) << operations;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryOp, testing::ValuesIn(all_ops().begin(), all_ops().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace plait
