// Graphs of ours as profiles: nothing lost, and running again gives the same bits.
#include "io/megengine/index.h"
#include "models/registry.h"
#include "ops/table.h"
#include "ops/verify.h"
#include "passes/measure.h"
#include "tests/io/megengine/samples.h"

namespace plait::io::megengine {
namespace {

RunTimes some_times(const ir::Graph& graph) {
  RunTimes times;
  double at = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    times.nodes.push_back({at, at + 1e-6 * static_cast<double>(i % 7 + 1)});
    at += 1e-5;
  }
  return times;
}

/// The graph as text of the format and back.
Import through_text(const ir::Graph& graph) {
  const Record record = from_graph(graph, some_times(graph));
  const std::string text = write(record);
  const Record again = read(text, "");
  EXPECT_EQ(again, record) << graph.name;
  return to_graphs(again);
}

/// Whatever is run, the same comes out and the same is left in the states.
void expect_same_run(const std::string& spec) {
  const ir::Package package = models::build(spec);
  Session before = session_of(package);
  Session after = session_of(sized(through_text(package.graphs[0]), {}));
  const Arrays feeds = random_feeds(package);
  const Arrays a = run(before, feeds);
  const Arrays b = run(after, feeds);
  ASSERT_EQ(a.size(), b.size()) << spec;
  for (const auto& [name, value] : a) EXPECT_TRUE(value.same_bits(b.at(name))) << spec << name;
  for (const ir::StateUse& use : package.graphs[0].states) {
    EXPECT_TRUE(before.state(use.state.name).same_bits(after.state(use.state.name)))
        << spec << " " << use.state.name;
  }
}

TEST(FromGraph, RunsAgainBitForBit) {
  expect_same_run("mlp?batch=4&dtype=f32");
  expect_same_run("mlp?batch=4");
  expect_same_run("mlp?batch=4&train=1");
  expect_same_run("mlp?batch=4&train=1&optimizer=adam&dtype=f32");
  expect_same_run("conv_add");
  expect_same_run("resnet50?batch=1&image=32&width=4&classes=7");
}

TEST(FromGraph, EveryModelIsHeldWhole) {
  for (const char* spec :
       {"resnet50?batch=2&image=64&width=8&train=1", "vgg19?batch=1&train=1",
        "rwkv4?layers=2&width=32&vocab=64&context=16&copy=0&batch=2&train=1&optimizer=adam",
        "gpt2?batch=1", "unet?batch=1"}) {
    const ir::Package package = models::build(spec);
    const ir::Graph& graph = package.graphs[0];
    const Import import = through_text(graph);
    const ir::Graph back = sized(import, {}).graphs[0];
    verify_types(back);
    EXPECT_TRUE(import.notes.empty() || !import.notes[0].starts_with("what")) << import.notes[0];
    EXPECT_EQ(back.states.size(), graph.states.size()) << spec;
    EXPECT_EQ(back.nexts.size(), graph.nexts.size()) << spec;
    EXPECT_EQ(back.feeds.size(), graph.feeds.size()) << spec;
    EXPECT_EQ(back.fetches.size(), graph.fetches.size()) << spec;
    EXPECT_EQ(measure(back).operations, measure(graph).operations) << spec;
    EXPECT_EQ(measure(back).parameters, measure(graph).parameters) << spec;
    for (const ir::StateUse& use : graph.states) {
      const ir::StateUse* there = back.find_state(use.state.name);
      ASSERT_TRUE(there) << use.state.name;
      EXPECT_EQ(there->state, use.state) << use.state.name;
    }
  }
}

TEST(FromGraph, UsesMegEnginesWords) {
  const ir::Package package = models::build("resnet50?batch=1&image=32&width=4&classes=7");
  const Record record = from_graph(package.graphs[0], some_times(package.graphs[0]));
  std::map<std::string, int> types;
  for (const Operator& op : record.ops) ++types[op.type];
  EXPECT_EQ(types["ConvBiasForward"], 53);
  EXPECT_EQ(types["Elemwise"], 49 + 16);
  EXPECT_EQ(types["PoolingForward"], 2);
  EXPECT_EQ(types["Reshape"], 1);
  EXPECT_EQ(types["linear"], 1);
  EXPECT_EQ(types["SoftmaxForward"], 1);
  EXPECT_EQ(types["ImmutableTensor"], 2 * 54);
  EXPECT_EQ(types["Host2DeviceCopy"], 1);
  EXPECT_EQ(types["OutputCallback"], 1);
}

TEST(FromGraph, FootprintsTimesAndMemoryAreTheRuns) {
  const ir::Package package = models::build("mlp?batch=4&dtype=f32");
  const ir::Graph& graph = package.graphs[0];
  const RunTimes times = some_times(graph);
  const Record record = from_graph(graph, times);
  const Index index(record);
  std::int64_t operations = 0;
  for (const Footprint& f : *record.profiler->footprints) operations += f.computation.value_or(0);
  EXPECT_EQ(operations, measure(graph).operations);
  ASSERT_EQ(record.profiler->device->size(), graph.nodes.size());
  const Span& first = record.profiler->device->at(1).by_place.at(0).second;
  EXPECT_EQ(first.start, times.nodes[1].start);
  EXPECT_EQ(first.end, times.nodes[1].end);
  for (const Var& var : record.vars) {
    EXPECT_FALSE(var.dev_ptr) << "no address is made up";
    EXPECT_EQ(var.prev_dev_ptr, 0);
    EXPECT_EQ(var.has_flag(kPersistentFlag),
              is_constant(index.op(index.producer_of(index.var_of(var.id)))));
  }
  const Record untimed = from_graph(graph, {});
  EXPECT_FALSE(untimed.profiler->device || untimed.profiler->host);
}

TEST(FromGraph, PathsAndSourcesComeBack) {
  const ir::Package package = models::build("mlp?batch=4&dtype=f32");
  const ir::Graph back = sized(through_text(package.graphs[0]), {}).graphs[0];
  ASSERT_EQ(back.nodes.size(), package.graphs[0].nodes.size());
  for (std::size_t i = 0; i < back.nodes.size(); ++i) {
    EXPECT_EQ(back.nodes[i].path, package.graphs[0].nodes[i].path);
    EXPECT_EQ(back.nodes[i].source, package.graphs[0].nodes[i].source);
    EXPECT_EQ(back.value(back.nodes[i].outputs[0]).name,
              package.graphs[0].value(package.graphs[0].nodes[i].outputs[0]).name);
  }
}

TEST(FromGraph, AnOpaqueNodeStaysOne) {
  const ir::Graph graph = to_graphs(sample("moves")).package.graphs[0];
  const ir::Graph back = sized(through_text(graph), {}).graphs[0];
  int opaque = 0;
  for (const ir::Node& node : back.nodes) {
    opaque += node.opaque;
    EXPECT_EQ(node.opaque, node.op == "NMSKeep");
  }
  EXPECT_EQ(opaque, 1);
}

TEST(FromGraph, ASizeWithoutANumberHasNoWord) {
  Builder b("g");
  const Tensor x = b.feed("x", DType::f32, {Dim::symbol("n", 1, 9)});
  b.fetch("y", x.exp());
  const std::string message = test::message_of([&] { from_graph(b.graph(), {}); });
  EXPECT_NE(message.find("n"), std::string::npos);
  EXPECT_NE(message.find("number"), std::string::npos) << message;
}

}  // namespace
}  // namespace plait::io::megengine
