// Records: what is read from the samples, and that what is written reads back the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/registry.h"
#include "ops/builder.h"
#include "ops/verify.h"
#include "tests/io/oneflow/sample.h"
#include "tests/raises.h"

namespace plait::io::oneflow {
namespace {

TEST(OneflowDetects, LogsAndTrees) {
  for (const char* name : {"classifier.log", "classifier_split.log", "ops.log", "tree.txt"}) {
    EXPECT_TRUE(detects(sample_text(name))) << name;
  }
  EXPECT_TRUE(detects("\n\nnoise\n[08/24 02:43:17 libai]: hello\n"));
  EXPECT_TRUE(detects("[08/24 02:43:17 lb.engine.default]: hello"));
}

TEST(OneflowDetects, NothingElse) {
  for (const char* text : {"", "86 92\n", "{\"profiler\": {}}", "=== IRGraph: x ===",
                           "Tensors: {'a': 1}", "graph g {\n}\n", "(GRAPH", "(MODULE:a:b)",
                           "[01/02 03:04:05 other]: x", "noise (GRAPH:a:b)", "\xff\xfe\x00"}) {
    EXPECT_FALSE(detects(text)) << text;
  }
}

TEST(OneflowRead, WindowsLineEndsChangeNothing) {
  std::string text = sample_text("classifier.log"), windows;
  for (char c : text) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_TRUE(record_of(windows) == record_of(text));
}

TEST(OneflowGraphs, WithoutATreeWhatPlaitLacksTakesItsOperandsShape) {
  const std::string text =
      replaced(sample_text("trace_only.log"), "op_type_name: \"relu\"", "op_type_name: \"riddle\"");
  const Import import = to_graphs(record_of(text));
  const ir::Graph& graph = import.package.graphs.at(0);
  const auto riddle = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                   [](const ir::Node& n) { return n.op == "riddle"; });
  ASSERT_NE(riddle, graph.nodes.end());
  EXPECT_TRUE(riddle->opaque);
  EXPECT_EQ(graph.type(riddle->outputs[0]).shape, graph.type(riddle->inputs[0]).shape);
  ASSERT_FALSE(import.notes.empty());
  EXPECT_EQ(import.notes[0],
            "no tree gives the shapes of what Plait lacks (first op model-relu-2): they are taken "
            "from the first operand");
}

TEST(OneflowGraphs, ABiasIsAddedAlongItsAxis) {
  const Import import = to_graphs(sample("trace_only.log"));
  for (const ir::Node& node : import.package.graphs.at(0).nodes) EXPECT_FALSE(node.opaque);
}

TEST(OneflowRead, ConfigurationAndSections) {
  const Record r = sample("classifier.log");
  EXPECT_EQ(r.graph, "Tiny_0");
  EXPECT_EQ(r.config.world_size, 2);
  EXPECT_EQ(r.config.file, "configs/tiny.py");
  EXPECT_EQ(r.config.lines.size(), 8u);
  EXPECT_EQ(r.config.setting("lr"), "1e-3");
  EXPECT_EQ(r.config.setting("train.amp.enabled"), "False");
  EXPECT_EQ(r.config.setting("train.amp"), "");
  EXPECT_EQ(r.config.train_iter, 40);
  EXPECT_EQ(r.data, (std::vector<Data>{{1000, 10}}));
  EXPECT_EQ(r.modules[2],
            (Module{1, "ln", "LayerNorm", "(2,), eps=1e-05, elementwise_affine=True"}));
  EXPECT_EQ(r.half_ops, (std::vector<std::string>{"model.fc-broadcast_matmul-0",
                                                  "model.fc-broadcast_matmul_grad_b-14"}));
  ASSERT_EQ(r.passes.size(), 2u);
  EXPECT_EQ(r.passes[0].name, "Prune");
  EXPECT_NEAR(seconds_between(r.passes[0].start, *r.passes[0].finish), 0.002137, 1e-9);
  EXPECT_EQ(r.build_seconds, 0.25);
  EXPECT_EQ(r.compile_seconds, 0.0125);
  EXPECT_EQ(r.plan_seconds, 0.5);
  ASSERT_EQ(r.memory.size(), 2u);
  EXPECT_EQ(r.memory[1].rank, 1);
  EXPECT_EQ(r.memory[0].states, 0.00012);
  EXPECT_EQ(r.blocks, (std::vector<MemoryBlock>{{0, 0, 3, 12, 0.0004}}));
  ASSERT_EQ(r.training.size(), 2u);
  EXPECT_EQ(r.training[1].loss, 0.05);
  EXPECT_EQ(r.training[1].eta, "0:00:10");
  EXPECT_EQ(r.ending, (std::vector<std::string>{"Main process received SIGINT, exiting",
                                                "Check failed: stream gone"}));
  EXPECT_TRUE(r.missing.empty());
}

TEST(OneflowRead, OpsAndTensors) {
  const Record r = sample("classifier.log");
  ASSERT_EQ(r.ops.size(), 21u);
  const TracedOp& op = r.ops[6];
  EXPECT_EQ(op.name, "model.ln-layer_norm-1");
  EXPECT_EQ(op.inputs[0].key, "x");
  EXPECT_EQ(op.inputs[1].key, "gamma");
  EXPECT_EQ(op.outputs[2].tensors[0], "model.ln-layer_norm-1/inv_variance_0");
  EXPECT_EQ(op.attributes[3], (Attribute{"epsilon", "at_double", 1e-5}));
  EXPECT_EQ(r.ops[0].blob->layouts[0], (ir::Layout{ir::Layout::kSplit, 0}));
  ASSERT_EQ(r.tensors.size(), 3u);
  EXPECT_EQ(r.tensors[2].kind, TensorNote::kParameter);
  EXPECT_EQ(r.tensors[2].remarks, (std::vector<std::string>{"grad_fn=<accumulate_grad>"}));
  EXPECT_EQ(r.operators().size(), 15u + 3 * 4 + 2 + 2 + 1);
}

TEST(OneflowRead, MeshesListsAndAttributes) {
  const Record r = sample("tree.txt");
  const std::vector<const Operator*> operators = r.operators();
  ASSERT_EQ(operators.size(), 5u);
  const Operator& sum = *operators[0];
  EXPECT_EQ(sum.placement.mesh, (Sizes{2, 2}));
  EXPECT_EQ(sum.inputs[0].list, 1);
  EXPECT_EQ(sum.inputs[1].list, 1);
  EXPECT_EQ(sum.attributes, "axes=[1]");
  EXPECT_EQ(sum.outputs[0].blob.layouts,
            (Layouts{{ir::Layout::kSplit, 0}, {ir::Layout::kPartial, 0}}));
  EXPECT_EQ(operators[2]->tensor_of(operators[2]->outputs[0]), "a.w/out");
}

TEST(OneflowRead, FromPiecesAsFromMemory) {
  const std::string text = sample_text("classifier.log");
  std::size_t used = 0;
  const auto source = [&](char* buffer, std::size_t room) {
    const std::size_t count = std::min({room, text.size() - used, std::size_t{7}});
    text.copy(buffer, count, used);
    used += count;
    return count;
  };
  Lines lines(source, "pieces");
  EXPECT_TRUE(read(lines) == sample("classifier.log"));
}

TEST(OneflowWrite, ReadsBack) {
  for (const char* name : {"classifier.log", "classifier_split.log", "ops.log", "tree.txt"}) {
    const Record r = sample(name);
    const std::string text = write(r);
    EXPECT_TRUE(detects(text)) << name;
    EXPECT_TRUE(record_of(text) == r) << name;
    EXPECT_EQ(write(record_of(text)), text) << name;
  }
}

TEST(OneflowWrite, TheTreeAlone) {
  const Record r = sample("tree.txt");
  EXPECT_EQ(write(r).substr(0, 21), "(GRAPH:mesh:Net): (\n ");
}

TEST(OneflowFromGraph, GraphsOfOurs) {
  for (const char* spec :
       {"mlp?train=1", "resnet50?batch=1", "vgg19?batch=1&train=1", "gpt2?batch=1",
        "rwkv4?layers=2&width=8&vocab=11&context=4&copy=3&batch=2&train=1&optimizer=adam"}) {
    for (const ir::Graph& graph : models::build(spec).graphs) {
      const Record r = from_graph(graph);
      EXPECT_TRUE(record_of(write(r)) == r) << spec;
      // Feeds, states, nodes, fetches and next values are operators.
      EXPECT_EQ(r.operators().size(), graph.feeds.size() + graph.states.size() +
                                          graph.nodes.size() + graph.fetches.size() +
                                          graph.nexts.size())
          << spec;
      const Import import = to_graphs(r);
      ASSERT_EQ(import.package.graphs.size(), 1u);
      const ir::Graph& back = import.package.graphs[0];
      EXPECT_EQ(back.name, "final");
      EXPECT_EQ(back.feeds.size(), graph.feeds.size());
      EXPECT_EQ(back.states.size(), graph.states.size());
      EXPECT_EQ(back.nexts.size(), graph.nexts.size());
      EXPECT_EQ(back.fetches.size(), graph.fetches.size());
      EXPECT_EQ(back.nodes.size(), graph.nodes.size() + graph.fetches.size() + graph.nexts.size());
      verify_types(back);
    }
  }
}

TEST(OneflowFromGraph, OrderAndPathsStay) {
  const ir::Graph graph = models::build("mlp?train=1").graphs[0];
  const ir::Graph back = to_graphs(from_graph(graph)).package.graphs[0];
  std::vector<std::string> want, got;
  for (const ir::Node& n : graph.nodes) want.push_back(n.path + " " + n.op);
  for (const ir::Node& n : back.nodes) {
    if (n.op != "assign" && n.op != "output") got.push_back(n.path + " " + n.op);
  }
  EXPECT_EQ(got, want);
}

TEST(OneflowFromGraph, PlacesStay) {
  const Import import = to_graphs(sample("tree.txt"));
  const Record r = from_graph(import.package.graphs[0]);
  EXPECT_EQ(r.operators()[0]->placement.mesh, (Sizes{2, 2}));
  EXPECT_TRUE(record_of(write(r)) == r);
}

TEST(OneflowFromGraph, NamesThatTheTreeCannotHold) {
  Builder b("a graph, (odd)");
  const Tensor x = b.feed("x y", DType::f32, {2});
  b.fetch("out (1)", x + 1);
  const Record r = from_graph(b.take());
  EXPECT_TRUE(record_of(write(r)) == r);
}

TEST(OneflowFromGraph, SizesMustBeNumbers) {
  Builder b("g");
  const Tensor x = b.feed("x", DType::f32, {Dim::symbol("n", 1, 9), 2});
  b.fetch("y", x + 1);
  const ir::Graph graph = b.take();
  EXPECT_EQ(test::message_of([&] { from_graph(graph); }),
            "oneflow: the size n of _g_input.0.0_x is not a number. Give it one with --set");
}

}  // namespace
}  // namespace plait::io::oneflow
