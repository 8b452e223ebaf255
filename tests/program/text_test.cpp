// A program goes to bytes and back without a change: planned networks, and one made up of what they
// do not have.
#include <limits>
#include <memory>

#include "backends/backends.h"
#include "ir/text.h"
#include "models/registry.h"
#include "run/compile.h"
#include "tests/program/same_program.h"
#include "tests/resident.h"

namespace plait::program {
namespace {

Program planned(const ir::Graph& graph) {
  return compile(graph, *make_target("cpu", 2), {.plan = {}, .use_cache = false}).program;
}

/// Through bytes; the same program gives the same bytes.
Program reread(const Program& program) {
  const std::string bytes = to_bytes(program);
  Program read = from_bytes(bytes, "memory");
  expect_same(program, read);
  EXPECT_EQ(to_bytes(read), bytes);
  return read;
}

void check_model(const std::string& spec) {
  const ir::Package package = models::build(spec);
  for (const ir::Graph& graph : package.graphs) {
    SCOPED_TRACE(spec + ", graph " + graph.name);
    const Program program = planned(graph);
    EXPECT_FALSE(program.steps.empty());
    EXPECT_FALSE(program.log.empty());
    reread(program);
  }
}

TEST(ProgramText, AreWrittenInTheMemoryThatTheirTextTakes) {
  Program program;
  program.graph_text.assign(16 << 20, 'g');
  program.steps.resize(200'000);
  for (Step& step : program.steps) step.nodes.assign(8, "a node with a long name");
  std::string text;
  const std::int64_t peak = test::peak_bytes_during([&] { text = to_bytes(program); });
  const auto bytes = static_cast<std::int64_t>(text.size());
  EXPECT_GT(bytes, 64 << 20);
  EXPECT_LT(peak, bytes + bytes / 4);
}

TEST(ProgramText, Mlp) { check_model("mlp?train=1"); }
TEST(ProgramText, ConvolutionsInTraining) { check_model("resnet50?batch=2&image=32&train=1"); }
TEST(ProgramText, Rwkv) { check_model("rwkv4?layers=2&width=32&vocab=64&context=16&train=1"); }

TEST(ProgramText, SymbolicSizes) {
  const Program program = planned(ir::parse_graph(R"(
    symbol batch = 1..512
    graph g(x: f32[batch,64]) state(w: f32[96,64] = normal(std=0.1)) {
      %y = linear(x, w) : f32[batch,96]
      %z = softmax(%y, axis=1) : f32[batch,96]
      return %z
    })"));
  ASSERT_EQ(program.symbols.count("batch"), 1u);
  const Program read = reread(program);
  EXPECT_EQ(read.symbols.at("batch").hi(), 512);
  bool symbolic = false;
  for (const Step& s : read.steps) symbolic |= !s.operations.is_const();
  EXPECT_TRUE(symbolic);
}

TEST(ProgramText, ConstantsAndHandKernels) {
  const Program program = planned(ir::parse_graph(R"(
    graph g(x: f32[3,5]) {
      %c = constant(value=f32[5]{1.0,-0.0,inf,3.5,0.1}) : f32[5]
      %y = add(x, %c) : f32[3,5]
      %s = cumsum(%y, axis=1) : f32[3,5]
      return %s
    })"));
  EXPECT_EQ(program.constants.size(), 1u);
  bool hand = false;
  for (const Step& s : program.steps) hand |= std::holds_alternative<HandCall>(s.calls[0]);
  EXPECT_TRUE(hand);
  reread(program);
}

ir::Attrs attrs_of_all_kinds(const Dim& n) {
  ir::Attrs attrs;
  attrs.set("bool", true);
  attrs.set("size", n * 3 + 1);
  attrs.set("least", Dim(std::numeric_limits<std::int64_t>::min()));
  attrs.set("real", -0.0);
  attrs.set("infinite", -std::numeric_limits<double>::infinity());
  attrs.set("tiny", 5e-324);
  attrs.set("text", std::string("two\nlines 7:seven \"quoted\" \0 and zero", 38));
  attrs.set("dtype", DType::bf16);
  attrs.set("sizes", std::vector<Dim>{n, 2});
  attrs.set("reals", std::vector<double>{});
  attrs.set("texts", std::vector<std::string>{"", " "});
  attrs.set("nothing", ir::Literal{});
  attrs.set(
      "tensor",
      ir::Literal{std::make_shared<const Array>(Array::of(DType::f16, {2, 2}, {0.1, -1, 1e9, 0}))});
  return attrs;
}

TEST(ProgramText, WhatNoNetworkHas) {
  Program p;
  p.symbols = {{"n", Dim::symbol("n", 2, 9)}, {"m", Dim::symbol("m", 0, 100)}};
  const Dim n = p.symbols["n"], m = p.symbols["m"];
  p.graph_name = "";
  p.threads = 3;
  p.buffers = {{"a b", Region::kState, 128, 64, 0, 4}, {"", Region::kConstant, 64, 0, 1, 1}};
  p.states_bytes = 256;
  p.constants_bytes = 64;
  p.shared_bytes = p.persistent_bytes = 64;
  p.side_bytes = 7;
  p.streams = 2;
  p.thread_bytes = 3;
  p.scratch_bytes = 200;
  const ir::Type spread{
      DType::i8, {n, 4}, {"cuda", {0, 1, 2, 3}, {2, 2}, {{ir::Layout::kSplit, 1}, {}}}};
  const ViewId none, v(0), c(1), o(2);
  p.views = {{"v", spread, {1, 0}, BufferId(0)},
             {"c", {DType::i16, {0}}, {0}, BufferId(1)},
             {"o", {DType::f16, {n}}, {0}, BufferId(0), 64}};
  p.states = {{{"s", spread, ir::Role::kCounter, {"uniform", attrs_of_all_kinds(n)}}, v, true}};
  p.constants = {{c, Array(DType::i16, {0})}};
  p.feeds = {{"v", v}};
  HandCall hand{"op", attrs_of_all_kinds(n), {spread}, {spread, spread}, {none}, {v, none}, {3, 4}};
  ProductCall product{.a = v, .b = c, .c = none, .b_constant = true, .parts = {}};
  ProductCall::Part part;
  part.contraction.k = {{min(n, m), floordiv(m * n + 1, 2), mod(m, 3), max(n, 5), -1, n - 7}};
  part.contraction.guarded = true;
  part.contraction.a0 = Dim(0) - n;
  part.epilogue = {"k_e", {n, m}};
  part.arguments = {{}, {c}, {o, Access::kWrite}};
  part.workspace = {5, 6};
  part.packed = {7, 8};
  part.variant = "tile 6x16";
  product.parts = {part, part};
  product.parts[1].generated.function.name = "k_g";
  LoopCall loop{{"k_l", {}}, {{v}}, {n * m}, 2, n, m, 3, n * n * n};
  loop.workspace = {9, 10};
  p.steps.resize(3);
  p.steps[0].calls = {hand};
  p.steps[1].calls = {product, loop};
  p.steps[0].shared_bytes = p.steps[1].shared_bytes = 60;
  p.steps[2].operations = n * m;
  p.steps[2].stream = 1;
  p.steps[2].waits = {StepId(0), StepId(1)};
  p.seconds = {{"place", 0.1}, {"", 1e-300}};
  p.log = {{"pass", "node", "what\n", "why"}, {}};
  p.texts = {{"k_e", ""}, {"k_g", "\n"}, {"k_l", "void k_l() { /* 3:abc */ }\n"}};
  p.options = {false, true, false};
  p.single_kernel = true;
  reread(p);
}

}  // namespace
}  // namespace plait::program
