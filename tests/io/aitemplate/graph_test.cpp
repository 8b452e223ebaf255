// Samples run on the reference backend, against the same thing written by hand.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "models/registry.h"
#include "ops/activation.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/contract.h"
#include "ops/conv.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/resize.h"
#include "ops/shape.h"
#include "ops/softmax.h"
#include "tests/io/aitemplate/run_both.h"
#include "tests/raises.h"

namespace plait::io::aitemplate {
namespace {

// f32: sums of up to about a hundred terms in two orders.
constexpr double kSingle = 1e-5;

/// Runs both with the import's feeds and states; the largest difference over all fetches.
double apart(const Import& import, Builder& expected, const DimBindings& set = {}) {
  Session ours(at_sizes(import, set), make_target("ref"), 3);
  ir::Package package;
  package.graphs.push_back(expected.take());
  Session theirs(package, make_target("ref"), 5);
  for (const std::string& name : theirs.state_names()) theirs.set_state(name, ours.state(name));
  const Arrays feeds = random_feeds(ours.package().graphs[0]);
  const Arrays y = ours.run({.graph = "", .feeds = feeds, .fetches = {}});
  const Arrays z = theirs.run({.graph = "", .feeds = feeds, .fetches = {}});
  EXPECT_EQ(y.size(), z.size());
  double most = 0;
  for (const auto& [name, array] : z) {
    EXPECT_TRUE(y.contains(name)) << name;
    if (y.contains(name)) most = std::max(most, difference(y.at(name), array));
  }
  return most;
}

TEST(AitGraph, ConvolutionPlusTensorEqualsTheModel) {
  const Import import = to_graphs(read_sample("conv_add.txt"));
  EXPECT_EQ(import.sizes.at("batch"), 2);
  EXPECT_FALSE(import.sizes.contains("residual_dim_1"));
  // The same network from models/, with the document's sizes changed by name.
  Session ours(at_sizes(import, {{"batch", 1}, {"image_dim_2", 6}, {"filter_dim_0", 5}}),
               make_target("ref"));
  Session model(models::build("conv_add?batch=1&image=6&channels=4&filters=5&kernel=3"),
                make_target("ref"), 9);
  const Arrays feeds = random_feeds(model.package().graphs[0]);
  ASSERT_EQ(model.state_names().size(), 1U);
  const Arrays y = ours.run({.graph = "",
                             .feeds = {{"image", feeds.at("x")},
                                       {"filter", model.state(model.state_names()[0])},
                                       {"residual", feeds.at("addend")}},
                             .fetches = {}});
  const Arrays z = model.run({.graph = "", .feeds = feeds, .fetches = {}});
  EXPECT_EQ(difference(y.at("sum"), z.begin()->second), 0);  // the same two ops
}

TEST(AitGraph, RangesAreSymbols) {
  const Import import = to_graphs(read_sample("gemm_range.txt"));
  const auto symbols = ir::symbols_of(import.package);
  ASSERT_EQ(symbols.size(), 1U);
  EXPECT_EQ(symbols.at("batch").lo(), 1);
  EXPECT_EQ(symbols.at("batch").hi(), 64);
  EXPECT_TRUE(import.sizes.empty());
  for (int rows : {1, 64}) {
    Builder b("expected");
    const Tensor x = b.feed("x", DType::f32, {rows, 16});
    const Tensor w = b.state({"w", {DType::f32, {8, 16}}, ir::Role::kParam, {}});
    const Tensor bias = b.state({"b", {DType::f32, {8}}, ir::Role::kParam, {}});
    const Tensor y = ops::relu(ops::linear(x, w, bias)) * 0.5;
    const Tensor z = ops::tanh(ops::clip(y, ops::Clip{.lo = -1, .hi = 0.75})) + bias;
    b.fetch("p", ops::softmax(z));
    b.fetch("m", z.mean({1}));
    EXPECT_LT(apart(import, b, {{"batch", rows}}), kSingle);
  }
}

TEST(AitGraph, AbsorbedSplitConcatAndViewComeBack) {
  const Import import = to_graphs(read_sample("accessors.txt"));
  EXPECT_EQ(import.sizes.at("x_dim_0"), 4);
  for (int rows : {4, 3}) {
    Builder b("expected");
    const Tensor x = b.feed("x", DType::f32, {rows, 12});
    const Tensor rest = b.feed("left_over", DType::f32, {rows, 3});
    const Tensor w = b.state({"w", {DType::f32, {4, 12}}, ir::Role::kParam, {}});
    const Tensor product = x.slice(1, 0, 6) * x.slice(1, 6, 12);
    const Tensor cat = ops::concat.all({ops::linear(x, w), rest, product}, ops::Axis{.axis = 1})[0];
    b.fetch("out", ops::relu(cat.reshape({rows, 13, 1})));
    EXPECT_LT(apart(import, b, {{"x_dim_0", rows}}), kSingle);
  }
}

/// layers.txt by hand.
void build_layers(Builder& b, int batch) {
  const auto param = [&](const char* name, Shape shape) {
    return b.state({name, {DType::f32, std::move(shape)}, ir::Role::kParam, {}});
  };
  const Tensor x = b.feed("x", DType::f32, {batch, 8, 8, 4});
  const ops::Conv2d conv{.stride = {2, 2}, .padding = {1, 1}, .layout = "NHWC"};
  const Tensor y1 = ops::relu(ops::conv2d(x, param("w", {6, 3, 3, 4}), param("b", {6}), conv));
  const ops::MaxPool2d pool{.kernel = {2, 2}, .stride = {}, .layout = "NHWC"};
  const ops::AvgPool2d average{
      .kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .layout = "NHWC"};
  const Tensor y3 = ops::avg_pool2d(ops::max_pool2d(y1, pool), average);
  ops::ConvTranspose2d up;
  up.stride = {2, 2};
  up.layout = "NHWC";
  b.fetch("y4", ops::conv_transpose2d(y3, param("wt", {6, 2, 2, 3}), up));
  const Tensor y5 = ops::resize_nearest(y3, ops::Resize{.size = {4, 4}, .layout = "NHWC"});
  const ops::GroupNorm groups{.groups = 2, .layout = "NHWC"};
  const Tensor y6 = ops::silu(ops::group_norm(y5, param("g1", {6}), param("b1", {6}), groups));
  const Tensor y8 = ops::layer_norm(y6.reshape({batch, 16, 6}), param("g2", {6}), param("b2", {6}),
                                    ops::LayerNorm{});
  const Tensor y11 = ops::softmax(ops::matmul(y8, y8.t()));
  const Tensor y12 = ops::matmul(y11, y8) + y8;
  b.fetch("y13", y12.slice(2, 3, 6).slice(1, 0, 8));
  const Tensor y15 =
      ops::concat.all({y12.slice(2, 2, 6), y12.slice(2, 0, 2)}, ops::Axis{.axis = 2})[0].reshape(
          {batch, 96});
  const Tensor y16 = ops::matmul(y15, param("wg", {96, 5})) + param("bg", {5});
  const Tensor y17 = ops::maximum(y16, 0.25);
  const Tensor y18 = ops::relu(ops::linear(y17, param("w2", {5, 5}), param("bb", {5})) + y16);
  const Tensor y19 =
      ops::gelu(ops::linear(y18, param("w3", {5, 5})), ops::Gelu{.approximate = "tanh"});
  const Tensor y21 = y19.unsqueeze({1}).broadcast_to({batch, 3, 5});
  b.fetch("y23", y21.transpose({1, 0, 2}).cast(DType::f16));
  b.fetch("y24", y21.sum({2}, true));
  b.fetch("y25", y21.max({2}));
  b.fetch("y26", ops::pad(y19, ops::Pad{.low = {0, 0}, .high = {0, 3}, .interior = {}}));
  b.fetch("y27", ops::copy(y19));
}

TEST(AitGraph, LayersEqualTheSameByHand) {
  const Import import = to_graphs(read_sample("layers.txt"));
  EXPECT_EQ(import.sizes, (std::map<std::string, std::int64_t>{{"batch", 2}}));
  for (int batch : {2, 3}) {
    Builder b("expected");
    build_layers(b, batch);
    EXPECT_LT(apart(import, b, {{"batch", batch}}), kSingle);
  }
}

TEST(AitGraph, UnknownOpsAreOpaque) {
  const Import import = to_graphs(read_sample("unknown_ops.txt"));
  const ir::Graph& g = import.package.graphs[0];
  EXPECT_TRUE(g.nodes[0].opaque);
  EXPECT_EQ(ir::type_text(g.type(g.find_value("indices"))), "i64[length,4]");
  EXPECT_EQ(shape_text(ir::substitute(g, import.bindings()).type(g.find_value("flat")).shape),
            "[8*length]");
  Session session(at_sizes(import, {{"length", 2}}), make_target("ref"));
  const Arrays feeds = random_feeds(session.package().graphs[0]);
  const std::string said =
      test::message_of([&] { session.run({.graph = "", .feeds = feeds, .fetches = {}}); });
  EXPECT_NE(said.find("topk"), std::string::npos) << said;
}

// The number is an operand of it, so that nothing is lost.
TEST(AitGraph, UnknownFunctionsOfANumberAreOpaque) {
  const std::string text =
      "Tensors: {'name': 'x', 'dtype': 'float32', 'shape': [{'values': [3]}], 'src_ops': [], "
      "'dst_ops': ['e'], 'is_input': True, 'is_output': False}\n"
      "{'name': 'c', 'dtype': 'float32', 'shape': [], 'src_ops': [], 'dst_ops': ['e'], "
      "'is_input': False, 'is_output': False, 'value': 2.5}\n"
      "{'name': 'y', 'dtype': 'float32', 'shape': [{'values': [3]}], 'src_ops': ['e'], "
      "'dst_ops': [], 'is_input': False, 'is_output': True}\n"
      "Operators: {'name': 'e', 'op': 'elementwise', 'func': <FuncEnum.ODD: 99>, "
      "'inputs': ['x', 'c'], 'outputs': ['y'], 'args': ['x', 'c']}";
  ir::Graph g = to_graphs(read(text, "d")).package.graphs[0];
  for (int again = 0; again < 2; ++again) {
    ASSERT_EQ(g.nodes.size(), 2U);
    const ir::Node& odd = g.nodes[1];
    EXPECT_TRUE(odd.opaque);
    ASSERT_EQ(odd.inputs.size(), 2U);
    EXPECT_EQ(odd.inputs[1], g.nodes[0].outputs[0]);
    EXPECT_EQ(std::get<ir::Literal>(*g.nodes[0].attrs.find("value")).array->real(0), 2.5);
    g = to_graphs(read(write(from_graph(g)), "d")).package.graphs[0];
  }
}

TEST(AitGraph, NodesPointToTheDocument) {
  const Import import = to_graphs(read_sample("conv_add.txt"));
  const ir::Graph& g = import.package.graphs[0];
  EXPECT_EQ(ir::describe(g, g.nodes[0]), "%conv2d_0_0 @ conv2d_0 (conv_add.txt:195)");
  EXPECT_EQ(ir::describe(g, g.nodes[1]),
            "%sum @ fused_elementwise_2.elementwise_1 (conv_add.txt:218)");
}

/// y = FUNC(x, arguments) as a document.
double scalar(const std::string& func, const std::string& arguments, double x) {
  const std::string text =
      "Tensors: {'name': 'x', 'dtype': 'float64', 'shape': [{'values': [1]}], 'src_ops': [], "
      "'dst_ops': ['e'], 'is_input': True, 'is_output': False}\n"
      "{'name': 'y', 'dtype': 'float64', 'shape': [{'values': [1]}], 'src_ops': ['e'], "
      "'dst_ops': [], 'is_input': False, 'is_output': True}\n"
      "Operators: {'name': 'e', 'op': 'elementwise', 'func': <FuncEnum." +
      func +
      ": 0>, "
      "'inputs': ['x'], 'outputs': ['y'], 'args': [" +
      arguments + "]}";
  Session session(to_graphs(read(text, "d")).package, make_target("ref"));
  return session
      .run({.graph = "", .feeds = {{"x", Array::of(DType::f64, {1}, {x})}}, .fetches = {}})
      .at("y")
      .real(0);
}

TEST(AitGraph, ScalarFunctionsAreWhatTheirNamesSay) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_EQ(scalar("SUB", "2, 'x'", 0.5), 1.5);
  EXPECT_EQ(scalar("DIV", "'x', 4", 1), 0.25);
  EXPECT_EQ(scalar("POW", "'x', 3", 2), 8);
  EXPECT_EQ(scalar("MIN", "'x', 1.5", 2), 1.5);
  EXPECT_EQ(scalar("FLOOR_DIV", "'x', 2", -3), -2);
  EXPECT_EQ(scalar("LRELU", "'x', 0.1", -2), -0.2);
  EXPECT_EQ(scalar("LEAKY_RELU", "'x', 0.1", 2), 2);
  EXPECT_EQ(scalar("HARDTANH", "'x', -1, 1", 7), 1);
  EXPECT_NEAR(scalar("SOFTPLUS", "'x', 2.0, 20.0", 1), std::log1p(std::exp(2.0)) / 2, 1e-12);
  EXPECT_NEAR(scalar("ELU", "'x', 0.5", -1), 0.5 * std::expm1(-1.0), 1e-12);
  EXPECT_NEAR(scalar("CELU", "'x', 2.0", -1), 2 * std::expm1(-0.5), 1e-12);
  EXPECT_NEAR(scalar("SOFTSIGN", "'x'", -3), -0.75, 1e-12);
  EXPECT_NEAR(scalar("LOGE", "'x'", 2), std::log(2.0), 1e-12);
  EXPECT_NEAR(scalar("SILU", "'x'", 1), 1 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_NEAR(scalar("GELU", "'x'", 1), 0.5 * (1 + std::erf(std::sqrt(0.5))), 1e-12);
  EXPECT_EQ(scalar("NAN_TO_NUM", "'x', 1.0, 2.0, 3.0", nan), 1);
  EXPECT_EQ(scalar("NAN_TO_NUM", "'x', 1.0, 2.0, 3.0", inf), 2);
  EXPECT_EQ(scalar("NAN_TO_NUM", "'x', 1.0, 2.0, 3.0", -inf), 3);
  EXPECT_EQ(scalar("CLAMP_NAN_TO_NUM", "'x', 5.0, 1.0", nan), 1);
  EXPECT_EQ(scalar("CLAMP_NAN_TO_NUM", "'x', 5.0, 1.0", -9), -5);
  EXPECT_EQ(scalar("SIGN", "'x'", -9), -1);
  EXPECT_EQ(scalar("RECIPROCAL", "'x'", 4), 0.25);
}

}  // namespace
}  // namespace plait::io::aitemplate
