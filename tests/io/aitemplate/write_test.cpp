// Graphs of ours as documents: readable, the same record again, and the same numbers when run.
#include <gtest/gtest.h>

#include "io/aitemplate/format.h"
#include "ir/text.h"
#include "models/registry.h"
#include "ops/builder.h"
#include "ops/verify.h"
#include "tests/io/aitemplate/run_both.h"
#include "tests/raises.h"

namespace plait::io::aitemplate {
namespace {

/// Runs the graph and what is read back from its document; the largest difference.
double apart(const ir::Graph& graph, const std::string& text) {
  const Import import = to_graphs(read(text, "d"));
  ir::Package before;
  before.graphs.push_back(graph);
  Session first(before, make_target("ref"), 3), again(at_sizes(import), make_target("ref"), 3);
  EXPECT_EQ(first.state_names(), again.state_names());
  const Arrays feeds = random_feeds(graph);
  const Arrays y = first.run({.graph = "", .feeds = feeds, .fetches = {}});
  const Arrays z = again.run({.graph = "", .feeds = feeds, .fetches = {}});
  EXPECT_EQ(y.size(), z.size());
  double most = 0;
  for (const auto& [name, array] : y) {
    EXPECT_TRUE(z.contains(name)) << name;
    if (z.contains(name)) most = std::max(most, difference(z.at(name), array));
  }
  return most;
}

class AitModels : public testing::TestWithParam<const char*> {};

// Initial values come from names and the seed, so that states agree too. Nodes are the same ops on
// the same operands: every bit must be.
TEST_P(AitModels, AreWrittenReadAndRunToTheSameBits) {
  const ir::Package package = models::build(GetParam());
  for (const ir::Graph& graph : package.graphs) {
    const Record record = from_graph(graph);
    const std::string text = write(record);
    EXPECT_TRUE(detects(text));
    EXPECT_EQ(read(text, "d"), record);
    EXPECT_EQ(apart(graph, text), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, AitModels,
    testing::Values("mlp?batch=4", "conv_add?image=6&channels=8&filters=8",
                    "resnet50?batch=1&image=32&width=4&classes=10",
                    "vgg19?batch=1&image=32&width=2&hidden=16&classes=10",
                    "rwkv4?layers=2&width=16&vocab=32&context=8&copy=8&batch=2",
                    "gpt2?layers=2&width=16&heads=2&vocab=32&context=8&batch=2",
                    "unet?batch=1&image=16&width=4"));

TEST(AitWrite, UsesAITemplatesWords) {
  const Record r = from_graph(models::build("conv_add").graphs[0]);
  ASSERT_EQ(r.operators.size(), 2U);
  EXPECT_EQ(r.operators[0].op, "conv2d");
  EXPECT_EQ(r.operators[0].find("layout"), nullptr);
  EXPECT_EQ(r.operators[0].find("CO")->whole, 256);
  EXPECT_EQ(*r.operators[0].epilogue_alignment, 8);
  EXPECT_EQ((*r.operators[0].exec_path)[0].predicate,
            "NI == 1 && HI == 28 && WI == 28 && CI == 128");
  EXPECT_EQ(r.operators[1].op, "elementwise");
  EXPECT_EQ(r.operators[1].func->text, "<FuncEnum.ADD: 1>");
  EXPECT_EQ(from_graph(models::build("mlp").graphs[0]).operators[0].op, "gemm_rcr_bias");
  const Record vgg = from_graph(models::build("vgg19?batch=1&image=32&width=2").graphs[0]);
  EXPECT_EQ(vgg.operators[0].op, "conv2d_bias");
  EXPECT_EQ(vgg.operators[0].find("layout")->text, "NCHW");
}

TEST(AitWrite, SymbolsKeepTheirRanges) {
  Builder b("g");
  const Dim n = Dim::symbol("n", 1, 64);
  const Tensor x = b.feed("x", DType::f32, {n, 4});
  b.fetch("y", x.reshape({n * Dim(4)}));
  const ir::Graph graph = b.take();
  const Record r = from_graph(graph);
  EXPECT_EQ(*r.tensors[0].shape[0].name, "n");
  EXPECT_EQ(r.tensors[0].shape[0].values, (std::vector<std::int64_t>{1, 64}));
  EXPECT_EQ(r.tensors[1].shape[0].symbolic_value->text, "4*n");
  EXPECT_EQ(view_of(r.tensors[1]), "x");
  const Import import = to_graphs(read(write(r), "d"));
  EXPECT_EQ(ir::symbols_of(import.package).at("n").hi(), 64);
}

TEST(AitWrite, WhatIsFetchedTwiceOrFedIsCopied) {
  Builder b("g");
  const Tensor x = b.feed("x", DType::f32, {3});
  const Tensor y = x + 1.0;
  b.fetch("a", y);
  b.fetch("b", y);
  b.fetch("c", x);
  b.fetch("one", b.constant(1, DType::f32));
  const ir::Graph graph = b.take();
  EXPECT_EQ(apart(graph, write(from_graph(graph))), 0);
}

TEST(AitWrite, OpaqueNodesStayOpaque) {
  const Import import = to_graphs(read_sample("unknown_ops.txt"));
  const Import again = to_graphs(read(write(from_graph(import.package.graphs[0])), "d"));
  const ir::Node &before = import.package.graphs[0].nodes[0],
                 &after = again.package.graphs[0].nodes[0];
  EXPECT_TRUE(after.opaque);
  EXPECT_EQ(after.path, before.path);
  const auto shown = [](const ir::Attrs& attrs) {  // as text: a NaN differs from itself
    std::string out;
    for (const auto& [name, value] : attrs) out += name + "=" + ir::attr_text(value) + "\n";
    return out;
  };
  EXPECT_EQ(shown(after.attrs), shown(before.attrs));
}

TEST(AitWrite, TrainingIsRefusedByName) {
  const std::string said =
      test::message_of([] { from_graph(models::build("mlp?train=1").graphs[0]); });
  EXPECT_TRUE(said.starts_with("graph train changes state ")) << said;
  EXPECT_TRUE(
      said.ends_with("AITemplate's documents hold inference alone. Build it without "
                     "train=1"))
      << said;
}

}  // namespace
}  // namespace plait::io::aitemplate
