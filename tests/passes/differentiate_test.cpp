// Gradients as text, against central differences on random graphs, and of gradients.
#include "passes/differentiate.h"

#include <cmath>

#include "ops/ops.h"
#include "tests/passes/random_graph.h"
#include "tests/passes/text_case.h"

namespace plait::test {
namespace {

PipelineOptions with_gradients() { return {{"differentiate"}, "", {}}; }

TEST(Differentiate, OfAProduct) {
  EXPECT_EQ(ir::print(run_pipeline(ir::parse_graph(R"(
    graph g(x: f32[3]) state(w: f32[3], m: f32[3] as slot) {
      %a = mul(x, w)        : f32[3] @ fc
      %loss = sum(%a)       : f32[]
      return %loss
    })"),
                                   with_gradients())
                          .graph),
            normal(R"(
    graph g(x: f32[3]) state(w: f32[3], m: f32[3] as slot) {
      %a = mul(x, w)                     : f32[3] @ fc
      %loss = sum(%a)                    : f32[]
      return %loss, d_w = x
    })"));
}

TEST(Differentiate, ZerosWhereNothingDependsOnAState) {
  const ir::Graph graph = differentiate(ir::parse_graph(R"(
    graph g(x: f32[3]) state(w: f32[2]) { %loss = sum(x) : f32[] return %loss })"));
  ASSERT_EQ(graph.fetches.size(), 2u);
  const NamedArrays y = evaluate_graph(graph, random_inputs(graph, 1));
  EXPECT_EQ(difference({{"d", y.at("d_w")}}, {{"d", Array(DType::f32, {2})}}), "");
}

TEST(Differentiate, StopsWhereAsked) {
  const ir::Graph graph = differentiate(ir::parse_graph(R"(
    graph g() state(w: f32[2]) {
      %s = stop_gradient(w) : f32[2]
      %p = mul(%s, w)       : f32[2]
      %loss = sum(%p)       : f32[]
      return %loss
    })"));
  const NamedArrays inputs = random_inputs(graph, 1);
  const Array d = evaluate_graph(graph, inputs).at("d_w");
  EXPECT_EQ(difference({{"d", d}}, {{"d", inputs.at("w")}}), "");
}

std::string complaint(std::string_view text) {
  return message_of<UserError>([&] { differentiate(ir::parse_graph(text)); });
}

TEST(Differentiate, Messages) {
  EXPECT_EQ(complaint("graph g() state(w: f32[2]) { }"),
            "graph g returns nothing, so there is no loss to differentiate");
  EXPECT_EQ(complaint("graph g() state(w: f32[2]) { return w }"),
            "only a float scalar has a gradient; the loss is f32[2]. Take its mean or sum?");
  EXPECT_EQ(complaint(R"(graph g() state(w: f32[]) {
                           %a = opaque "Lrn"(w) : f32[] @ norm
                           return %a })"),
            "opaque node %a @ norm has no gradient");
}

TEST(Differentiate, RuleThatDoesNotExist) {
  Builder b("g");
  const Tensor w = b.state({"w", {DType::f32, {}}, ir::Role::kParam, {}});
  EXPECT_EQ(message_of<UserError>([&] {
              grad(ops::relu(w), {w}, {{{"relu", "z"}}});
            }),
            "[relu] has no gradient that saves 'z'; there are 'y', 'x', 'mask'");
}

/// inputs + step * direction, on the states.
NamedArrays moved(const ir::Graph& graph, NamedArrays inputs, const NamedArrays& direction,
                  double step) {
  for (const ir::StateUse& use : graph.states) {
    Array& a = inputs.at(use.state.name);
    for (std::int64_t i = 0; i < a.count(); ++i) {
      a.set(i, a.real(i) + step * direction.at(use.state.name).real(i));
    }
  }
  return inputs;
}

/// Compares the fetch `y` along a random direction with its gradients, the fetches `d_NAME`.
void expect_gradients(const ir::Graph& graph, const std::string& y, std::uint64_t seed) {
  const NamedArrays inputs = random_inputs(graph, seed, false);
  const NamedArrays direction = random_inputs(graph, seed + 1, false);
  constexpr double step = 1e-5;
  const auto value = [&](double s) {
    return evaluate_graph(graph, moved(graph, inputs, direction, s)).at(y).real(0);
  };
  const double numeric = (value(step) - value(-step)) / (2 * step);
  const NamedArrays results = evaluate_graph(graph, inputs);
  double exact = 0;
  for (const ir::StateUse& use : graph.states) {
    const Array &g = results.at("d_" + use.state.name), &v = direction.at(use.state.name);
    for (std::int64_t i = 0; i < g.count(); ++i) exact += g.real(i) * v.real(i);
  }
  ASSERT_TRUE(std::isfinite(exact));
  EXPECT_NEAR(exact, numeric, 1e-6 * (1 + std::abs(numeric)));
}

TEST(Differentiate, RandomGraphsAgreeWithCentralDifferences) {
  for (std::uint64_t seed = 0; seed < 200 && !::testing::Test::HasFailure(); ++seed) {
    const ir::Graph graph = random_smooth_graph(seed);
    SCOPED_TRACE(str("seed ", seed, "\n", ir::print(graph)));
    expect_gradients(differentiate(graph), "loss", seed);
  }
}

TEST(Differentiate, PassesChangeNoBitOfGradients) {
  for (std::uint64_t seed = 0; seed < 200 && !::testing::Test::HasFailure(); ++seed) {
    const ir::Graph graph = random_smooth_graph(seed);
    SCOPED_TRACE(str("seed ", seed, "\n", ir::print(graph)));
    const ir::Graph plain = differentiate(graph);
    const ir::Graph small = run_pipeline(graph, with_gradients()).graph;
    EXPECT_LT(small.nodes.size(), plain.nodes.size());
    const NamedArrays inputs = random_inputs(graph, seed, false);
    EXPECT_EQ(difference(evaluate_graph(plain, inputs), evaluate_graph(small, inputs)), "");
  }
}

/// The graph with `slope`, the gradient of its loss along a fixed direction, and that one's
/// gradients in turn as `d_NAME`.
ir::Graph twice_differentiated(const ir::Graph& graph, std::uint64_t seed) {
  const NamedArrays direction = random_inputs(graph, seed + 2, false);
  Builder b(graph);
  std::vector<Tensor> states;
  for (const ir::StateUse& use : graph.states) states.push_back(b.value(use.value));
  const std::vector<Tensor> first = grad(b.value(graph.fetches[0].value), states);
  Tensor slope = b.constant(0, DType::f64);
  for (std::size_t i = 0; i < states.size(); ++i) {
    slope = slope + (first[i] * b.constant(direction.at(graph.states[i].state.name))).sum();
  }
  b.fetch("slope", slope);
  const std::vector<Tensor> second = grad(slope, states);
  for (std::size_t i = 0; i < states.size(); ++i) {
    b.fetch("d_" + graph.states[i].state.name, second[i]);
  }
  return b.take();
}

TEST(Differentiate, GradientsOfGradientsOfRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 60 && !::testing::Test::HasFailure(); ++seed) {
    const ir::Graph graph = random_smooth_graph(seed, 7);
    SCOPED_TRACE(str("seed ", seed, "\n", ir::print(graph)));
    const ir::Graph twice = twice_differentiated(graph, seed);
    expect_gradients(twice, "slope", seed);
    const NamedArrays inputs = random_inputs(graph, seed, false);
    EXPECT_EQ(difference(evaluate_graph(twice, inputs),
                         evaluate_graph(run_pipeline(twice).graph, inputs)),
              "");
  }
}

/// d^order/dw^order of f at w.
double derivative(Tensor (*f)(const Tensor&), int order, double at) {
  Builder b("g");
  const Tensor w = b.state({"w", {DType::f64, {}}, ir::Role::kParam, {}});
  Tensor y = f(w);
  for (int i = 0; i < order; ++i) y = grad(y, {w})[0];
  b.fetch("y", y);
  const ir::Graph graph = run_pipeline(b.take()).graph;
  return evaluate_graph(graph, {{"w", Array::scalar(DType::f64, at)}}).at("y").real(0);
}

TEST(Differentiate, DerivativesOfHighOrder) {
  const auto cube = [](const Tensor& w) { return w * w * w; };
  EXPECT_NEAR(derivative(cube, 1, 0.7), 3 * 0.49, 1e-14);
  EXPECT_NEAR(derivative(cube, 2, 0.7), 6 * 0.7, 1e-14);
  EXPECT_NEAR(derivative(cube, 3, 0.7), 6, 1e-14);
  EXPECT_NEAR(derivative(cube, 4, 0.7), 0, 1e-14);
  const auto sine = [](const Tensor& w) { return ops::sin(w * 2); };
  EXPECT_NEAR(derivative(sine, 5, 0.7), 32 * std::cos(1.4), 1e-12);
  const auto tanh = [](const Tensor& w) { return ops::tanh(w); };
  const double t = std::tanh(0.7), s = 1 - t * t;
  EXPECT_NEAR(derivative(tanh, 2, 0.7), -2 * t * s, 1e-13);
  EXPECT_NEAR(derivative(tanh, 3, 0.7), -2 * s * (1 - 3 * t * t), 1e-13);
}

}  // namespace
}  // namespace plait::test
