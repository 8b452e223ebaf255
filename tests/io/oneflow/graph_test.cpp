// The graphs of the samples: what they compute, how they are named and laid out.
#include <gtest/gtest.h>

#include <random>

#include "backends/backends.h"
#include "ops/ops.h"
#include "ops/verify.h"
#include "passes/differentiate.h"
#include "run/session.h"
#include "tests/io/oneflow/run.h"
#include "tests/raises.h"

namespace plait::io::oneflow {
namespace {

/// Linear, layer norm, cross-entropy and all gradients, from our own ops.
ir::Graph classifier(std::int64_t batch) {
  Builder b("own");
  const Tensor x = b.feed("x", DType::f32, {batch, 3}), t = b.feed("targets", DType::i64, {batch});
  const Tensor w = b.state({"fc.weight", {DType::f32, {2, 3}}, ir::Role::kParam, {}});
  const Tensor gamma = b.state({"ln.weight", {DType::f32, {2}}, ir::Role::kParam, {}});
  const Tensor beta = b.state({"ln.bias", {DType::f32, {2}}, ir::Role::kParam, {}});
  const Tensor y = ops::layer_norm(ops::linear(x, w), gamma, beta);
  b.fetch("loss", ops::cross_entropy(y, t));
  return differentiate(b.take());
}

void compare_classifier(const Import& import, std::int64_t batch) {
  Session log(with_sizes(import, {{"batch", Dim(batch)}}), make_target("ref"));
  Session own({{classifier(batch)}}, make_target("ref"));
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (const std::string& name : own.state_names()) {
    Array value = own.state(name);
    for (std::int64_t i = 0; i < value.count(); ++i) value.set(i, normal(random));
    own.set_state(name, value);
    log.set_state(name, value);
  }
  Array x(DType::f32, {batch, 3}), t(DType::i64, {batch});
  for (std::int64_t i = 0; i < x.count(); ++i) x.set(i, normal(random));
  for (std::int64_t i = 0; i < t.count(); ++i) t.set_integer(i, i % 3 == 1 ? -100 : i % 2);
  const Arrays feeds{{"x", x}, {"targets", t}};
  const Arrays got = log.run({"", feeds, {}}), want = own.run({"", feeds, {}});
  EXPECT_EQ(got.size(), 4u);
  for (const auto& [name, array] : want) {
    ASSERT_TRUE(got.count(name)) << name;
    // A layer norm of two elements divides by small deviations: a few more roundings.
    expect_near(reals(got.at(name)), reals(array), name, 1e-5);
  }
}

TEST(OneflowGraphs, TheClassifierRunsAsOurOwn) {
  const Import import = to_graphs(sample("classifier.log"));
  EXPECT_EQ(import.sizes, (std::map<std::string, std::int64_t>{{"batch", 4}}));
  compare_classifier(import, 4);
  compare_classifier(import, 7);
}

TEST(OneflowGraphs, WithoutTheTreeToo) {
  const std::string text = sample_text("classifier.log");
  const std::string cut = text.substr(0, text.find("Tiny_0 with operators"));
  const Import import = to_graphs(record_of(cut));
  ASSERT_EQ(import.package.graphs.size(), 1u);
  EXPECT_EQ(import.notes, (std::vector<std::string>{"the log does not have the tree with operators",
                                                    "the log does not have the training lines"}));
  compare_classifier(import, 5);
}

TEST(OneflowGraphs, TheClassifierAfterThePasses) {
  const Import import = to_graphs(sample("classifier.log"));
  ASSERT_EQ(import.package.graphs.size(), 2u);
  const ir::Graph& g = import.package.graphs[1];
  EXPECT_EQ(g.name, "final");
  // 32 operators: 2 feeds, 9 states, 21 nodes; the mask and the learning rate have no operator.
  EXPECT_EQ(g.feeds.size(), 2u + 1);
  EXPECT_EQ(g.states.size(), 9u + 1);
  EXPECT_EQ(g.nodes.size(), 21u);
  EXPECT_EQ(g.nexts.size(), 9u);
  EXPECT_EQ(g.fetches.size(), 1u);
  EXPECT_EQ(g.fetches[0].name, "loss");
  const ir::Value& y = g.value(g.find_value("model.fc-broadcast_matmul-0/out_0"));
  EXPECT_EQ(type_text(y.type), "f32[batch,2] on cuda[0,1](B)");
  const ir::Node& node = g.node(y.producer);
  EXPECT_EQ(node.op, "broadcast_matmul");
  EXPECT_EQ(node.path, "fc");
  EXPECT_EQ(node.source, (ir::Source{"net/tiny.py", 11}));
  EXPECT_TRUE(node.opaque);
  EXPECT_EQ(g.find_state("fc.weight-m")->state.role, ir::Role::kSlot);
  EXPECT_EQ(g.find_state("class_mask")->state.role, ir::Role::kBuffer);
}

TEST(OneflowGraphs, OperatorsInAnOrderOfExecution) {
  const Import import = to_graphs(sample("tree.txt"));
  const ir::Graph& g = import.package.graphs.at(0);
  std::vector<std::string> ops;
  for (const ir::Node& n : g.nodes) ops.push_back(n.op);
  EXPECT_EQ(ops, (std::vector<std::string>{"matmul", "sum", "output"}));
  EXPECT_EQ(type_text(g.type(g.find_value("a-matmul-1/out"))),
            "f16[8,6] on cuda[0,1,2,3]{2,2}(S(0),S(1))");
  EXPECT_EQ(ir::attr_text(*g.nodes[1].attrs.find("attributes")), "\"axes=[1]\"");
}

TEST(OneflowGraphs, AnOutputIsKnownByItsNameToo) {
  const std::string text = R"((GRAPH:Net_0:Net): (
  (INPUT:_Net_0_input.0_x:tensor(..., placement=oneflow.placement(type="cpu", ranks=[0]), sbp=(oneflow.sbp.broadcast,), size=(4,), dtype=oneflow.float32))
  (OPERATOR: _Net_0_input.0_x() -> (_Net_0_input.0_x/out:sbp=(B), size=(4), dtype=(oneflow.float32)), placement=(oneflow.placement(type="cpu", ranks=[0])))
  (OPERATOR: _Net_0_output.0_y(_Net_0_input.0_x/out:sbp=(B), size=(4), dtype=(oneflow.float32)) -> (_Net_0_output.0_y/out:sbp=(B), size=(4), dtype=(oneflow.float32)), placement=(oneflow.placement(type="cpu", ranks=[0])))
)
)";
  const Import import = to_graphs(record_of(text));
  ASSERT_EQ(import.package.graphs.at(0).fetches.size(), 1u);
  EXPECT_EQ(import.package.graphs[0].fetches[0].name, "y");
}

TEST(OneflowGraphs, ACircleOfOperators) {
  std::string text = sample_text("tree.txt");
  text = replaced(text, "a-matmul-1(_mesh_input.0_x/out:(sbp=(S(0), B), size=(8, 4)",
                  "a-matmul-1(a-matmul-1/out:(sbp=(S(0), B), size=(8, 6)");
  EXPECT_EQ(test::message_of([&] { to_graphs(record_of(text)); }),
            "log:6: operator a-sum-2 waits for itself: the operators of the tree form a circle");
}

TEST(OneflowGraphs, AnOpThatPlaitLacks) {
  std::string text = sample_text("classifier.log");
  text = replaced(text, "op_type_name: \"broadcast_like\"", "op_type_name: \"warp_drive\"");
  const Import import = to_graphs(record_of(text));
  const ir::Graph& g = import.package.graphs[0];
  const ir::Value& v = g.value(g.find_value("model-broadcast_like-9/y_0"));
  EXPECT_TRUE(g.node(v.producer).opaque);
  EXPECT_EQ(g.node(v.producer).op, "warp_drive");
  text = text.substr(0, text.find("Tiny_0 with operators"));
  EXPECT_EQ(to_graphs(record_of(text)).notes.at(0),
            "no tree gives the shapes of what Plait lacks (first op model-broadcast_like-9): they "
            "are taken from the first operand");
}

}  // namespace
}  // namespace plait::io::oneflow
