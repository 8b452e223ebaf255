// Our own training graphs as Chainer steps: read back equal, and run with the same loss and
// gradients.
#include <set>

#include "models/registry.h"
#include "ops/verify.h"
#include "passes/differentiate.h"
#include "tests/io/chainer/steps.h"
#include "tests/raises.h"

namespace plait {
namespace {

using io::chainer::Record;

std::string written_name(const std::string& state) {
  std::string name = "/predictor/" + state;
  for (char& c : name) c = c == '.' ? '/' : c;
  return name;
}

struct Model {
  const char* spec;
  double tolerance;  // of the dtype: the same ops, in an order that may differ
  bool all_chainer;
};

constexpr Model kModels[] = {
    {"mlp?train=1&batch=8&dtype=f32", 1e-5, true},
    {"mlp?train=1&batch=8", 1e-2, true},  // f16
    {"vgg19?train=1&batch=2&image=32&width=2&hidden=16&classes=10", 1e-5, true},
    {"rwkv4?train=1&layers=2&width=16&vocab=32&context=8&copy=0&batch=2", 1e-5, false},
    {"gpt2?train=1&batch=2&layers=1&width=16&heads=2&vocab=32&context=8&dropout=0", 1e-5, false},
};

Arrays numbered(const ir::Graph& graph, const Arrays& feeds) {
  Arrays out;
  for (std::size_t i = 0; i < graph.feeds.size(); ++i) {
    out[std::to_string(i)] = feeds.at(graph.value(graph.feeds[i]).name);
  }
  return out;
}

TEST(ChainerWrite, ModelsComeBackAndRunAlike) {
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.spec);
    const ir::Graph graph = models::build(model.spec).graphs[0];
    const Record record = io::chainer::from_graph(graph);
    const Record back = io::chainer::read(io::chainer::write(record), "");
    EXPECT_TRUE(back == record);
    const io::Import import = io::chainer::to_graphs(back);
    Session ours({{differentiate(graph)}}, make_target("ref"), 4);
    Session theirs(test::fixed(import), make_target("ref"), 4);
    const Arrays feeds = test::random_feeds(graph, 8);
    const Arrays want = [&] {
      for (const ir::StateUse& use : graph.states) {
        const std::string name = written_name(use.state.name);
        if (use.state.role == ir::Role::kParam) theirs.set_state(name, ours.state(use.state.name));
      }
      return ours.run({"", feeds, {}});
    }();
    const Arrays got = theirs.run({"", numbered(graph, feeds), {}});
    EXPECT_LE(test::distance(got.at("loss"), want.at("loss")), model.tolerance);
    std::size_t compared = 0;
    for (const ir::StateUse& use : graph.states) {
      if (use.state.role != ir::Role::kParam) continue;
      const Array& gradient = want.at("d_" + use.state.name);
      EXPECT_LE(test::distance(got.at("d_" + written_name(use.state.name)), gradient),
                model.tolerance)
          << use.state.name;
      ++compared;
    }
    EXPECT_GT(compared, 2u);
    for (const auto& op : record.operations) {
      if (!model.all_chainer) continue;
      EXPECT_TRUE(op.function[0] >= 'A' && op.function[0] <= 'Z') << op.function;
    }
  }
}

TEST(ChainerWrite, LargeModelsComeBack) {
  for (const char* spec : {"resnet50?train=1&batch=2", "unet?train=1&batch=2", "vgg19?train=1"}) {
    const ir::Graph graph = models::build(spec).graphs[0];
    const Record record = io::chainer::from_graph(graph);
    const Record back = io::chainer::read(io::chainer::write(record), "");
    EXPECT_TRUE(back == record) << spec;
    const io::Import import = io::chainer::to_graphs(back);
    for (const ir::Node& node : import.package.graphs[0].nodes) EXPECT_FALSE(node.opaque) << spec;
  }
}

// The VGG-19 of models/ has the sizes of the document: the same bytes of parameters and values.
TEST(ChainerWrite, SizesAreReal) {
  const Record record = io::chainer::from_graph(models::build("vgg19?train=1").graphs[0]);
  std::int64_t parameters = 0, forward = 0;
  for (const auto& v : record.variables) parameters += v.is_parameter() ? v.bytes : 0;
  for (const auto& op : record.operations) forward += !op.backward;
  EXPECT_EQ(parameters, 574'668'960);
  EXPECT_EQ(forward, 46);
  EXPECT_EQ(record.operations.size(), 92u);
  for (const auto& op : record.operations) {
    if (op.function == "ReLU") {
      EXPECT_EQ(op.retained_outputs, std::vector<std::int64_t>{0});
    } else if (op.function == "Convolution2DFunction") {
      EXPECT_EQ(op.retained_inputs, (std::vector<std::int64_t>{0, 1}));
    }
  }
}

TEST(ChainerWrite, WhatWasImportedKeepsItsNames) {
  for (const char* name : test::kSamples) {
    const Record record = test::record_of(name);
    const ir::Package package = test::fixed(io::chainer::to_graphs(record));
    const Record again = io::chainer::from_graph(package.graphs[0]);
    EXPECT_TRUE(io::chainer::read(io::chainer::write(again), "") == again) << name;
    std::set<std::string> before, after;
    for (const auto& v : record.variables) before.insert(v.name);
    if (std::string(name) == "words") before.erase("1");  // nothing reads it
    for (const auto& v : again.variables) after.insert(v.name);
    EXPECT_EQ(before, after) << name;
  }
}

ir::Type row(std::int64_t n) { return {DType::f32, {n}}; }

// A prediction beside the loss, fetched before it.
TEST(ChainerWrite, EveryResultIsTold) {
  Builder b("step");
  const Tensor x = b.feed("x", DType::f32, {4, 3});
  const Tensor w = b.state({"w", {DType::f32, {2, 3}}, ir::Role::kParam, {}});
  const Tensor y = b.add("linear", {x, w})[0];
  b.fetch("probabilities", b.add("softmax", {y})[0]);
  b.fetch("loss", y.square().mean());
  b.fetch("largest", y.max({1}));
  b.fetch("d_w", b.add("copy", {w})[0]);  // by its name what the backward makes
  const Record record = io::chainer::from_graph(b.graph());
  std::string told;
  for (const auto& op : record.operations) told += (op.backward ? "d" : "") + op.function + " ";
  EXPECT_EQ(told, "LinearFunction Softmax Square Mean Max dMean dSquare dLinearFunction ");
  const ir::Graph back = io::chainer::to_graphs(record).package.graphs[0];
  EXPECT_EQ(back.fetches.size(), 4u);
  EXPECT_EQ(back.fetches[0].name, "loss");
}

TEST(ChainerWrite, AStepWithoutALossIsRefused) {
  Builder b("sgd");
  const Tensor w = b.state({"w", row(3), ir::Role::kParam, {}});
  const Tensor y = w * b.feed("x", DType::f32, {3});
  const Tensor steps = b.state({"steps", row(3), ir::Role::kBuffer, {}});
  b.fetch("y", y);
  b.fetch("rate", steps.sum());  // a float without axes, but no loss
  b.next("steps", steps + 1.0);
  EXPECT_EQ(io::chainer::from_graph(b.graph()).operations.size(), 2u);
  b.next("w", w - y);
  EXPECT_EQ(
      test::message_of([&] { io::chainer::from_graph(b.graph()); }),
      "graph sgd changes parameters but returns no loss, from which a backward of Chainer could "
      "be told. It returns y, rate: return the loss as a float without axes");
}

TEST(ChainerWrite, AGraphWithoutResultsIsRefused) {
  ir::Graph graph;
  graph.name = "empty";
  EXPECT_EQ(test::message_of([&] { io::chainer::from_graph(graph); }),
            "graph empty returns nothing, so it has no loss");
}

}  // namespace
}  // namespace plait
