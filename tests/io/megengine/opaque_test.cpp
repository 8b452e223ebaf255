// What Plait cannot run stays in the graph; what it can run is found among several outputs.
#include "ops/conv.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/verify.h"
#include "tests/io/megengine/samples.h"

namespace plait::io::megengine {
namespace {

Var& var_named(Record& record, const std::string& name) {
  for (Var& var : record.vars) {
    if (var.name == name) return var;
  }
  throw std::logic_error(name);
}

Operator& op_of_type(Record& record, const std::string& type) {
  for (Operator& op : record.ops) {
    if (op.type == type) return op;
  }
  throw std::logic_error(type);
}

Footprint& footprint_of(Record& record, Id op) {
  for (Footprint& footprint : *record.profiler->footprints) {
    if (footprint.op == op) return footprint;
  }
  throw std::logic_error("footprint");
}

int opaque_nodes(const Import& import) {
  int count = 0;
  for (const ir::Node& node : import.package.graphs[0].nodes) count += node.opaque;
  return count;
}

TEST(Norm, TheResultIsTheOutputShapedLikeTheOperand) {
  const Import import = to_graphs(sample("norm"));
  EXPECT_TRUE(import.notes.empty()) << import.notes[0];
  EXPECT_EQ(opaque_nodes(import), 0);
  const ir::Graph& graph = import.package.graphs[0];
  const ir::ValueId norm = graph.find_value("norm");
  ASSERT_NE(norm, ir::kNone);
  EXPECT_EQ(graph.node(graph.value(norm).producer).op, "batch_norm_inference");
}

TEST(Norm, StartsAsTheIdentity) {
  const Import import = to_graphs(sample("norm"));
  const ir::Graph& graph = import.package.graphs[0];
  const std::pair<const char*, const char*> kinds[] = {
      {"weight", "kaiming"}, {"conv_bias", "normal"}, {"scale", "ones"},
      {"shift", "zeros"},    {"mean", "zeros"},       {"variance", "ones"}};
  for (const auto& [name, kind] : kinds) {
    EXPECT_EQ(graph.find_state(name)->state.init.kind, kind) << name;
  }
  Session session = session_of(sized(import, {}));
  Builder b("g");
  const Tensor x = b.feed("data", DType::f32, {2, 3, 4, 4});
  const Tensor w = b.state({"w", {DType::f32, {5, 3, 3, 3}}, ir::Role::kParam, {}});
  const Tensor bias = b.state({"b", {DType::f32, {5}}, ir::Role::kParam, {}});
  const Tensor y = ops::conv2d.all({x, w, bias}, ops::Conv2d{.padding = {1, 1, 1, 1}})[0];
  b.fetch("y", ops::max_pool2d(y, ops::MaxPool2d{.kernel = {2, 2}, .stride = {2, 2}}));
  Session ours = session_of({{b.take()}});
  ours.set_state("w", session.state("weight"));
  ours.set_state("b", session.state("conv_bias").reshaped({5}));
  const Arrays feeds = random_feeds(ours.package());
  // The variance 1 is divided by sqrt(1 + 1e-5), which is 5e-6 off; the rest is rounding of f32.
  EXPECT_LT(difference(run(session, feeds).at("y"), run(ours, feeds).at("y")), 1e-5);
}

TEST(Opaque, StatisticsThatAreReadAreNotComputed) {
  Record record = sample("norm");
  op_of_type(record, "OutputCallback").inputs.push_back(var_named(record, "save_mean").id);
  const Import import = to_graphs(record);
  EXPECT_EQ(opaque_nodes(import), 1);
}

TEST(Opaque, AnotherShapeThanTheRuleComputes) {
  Record record = sample("norm");
  const Operator& pool = op_of_type(record, "PoolingForward");
  footprint_of(record, pool.id).out_shapes = {{2, 5, 3, 3}};
  var_named(record, "pooled").mem_plan.reset();
  const Import import = to_graphs(record);
  EXPECT_EQ(opaque_nodes(import), 1);
  ASSERT_EQ(import.notes.size(), 1u);
  EXPECT_EQ(import.notes[0],
            "operator 23 (\"PoolingForward\") cannot run: its output, var 24, is recorded as "
            "[2,5,3,3], it computes [2,5,2,2]");
  const ir::Graph graph = sized(import, {}).graphs[0];
  EXPECT_NE(graph.find_value("pooled"), ir::kNone);
  EXPECT_EQ(graph.nodes.size(), traced(record).graph.nodes.size());
}

TEST(Opaque, DTypesThatPlaitLacks) {
  Record record = sample("norm");
  for (const char* name : {"norm", "pooled"}) {
    var_named(record, name).mem_plan->layout.dtype = "QuantizedS8(0.1)";
  }
  const Import import = to_graphs(record);
  EXPECT_EQ(opaque_nodes(import), 2);
  ASSERT_EQ(import.notes.size(), 1u);
  EXPECT_EQ(import.notes[0],
            "Plait has no dtype \"QuantizedS8\": i8 stands for it in 2 vars, and what reads or "
            "makes one cannot run");
  const ir::Graph& graph = import.package.graphs[0];
  EXPECT_EQ(graph.type(graph.find_value("norm")).dtype, DType::i8);
}

TEST(Opaque, IntegersThatAnOpRefuses) {
  Record record = sample("norm");
  for (const char* name : {"data", "weight", "conv_bias"}) {
    var_named(record, name).mem_plan->layout.dtype = "Int8";
  }
  const Import import = to_graphs(record);
  EXPECT_EQ(opaque_nodes(import), 1);
  ASSERT_EQ(import.notes.size(), 1u);
  EXPECT_NE(import.notes[0].find("x cannot be i8"), std::string::npos) << import.notes[0];
}

TEST(Opaque, NamedSizesSurvive) {
  Record record = sample("norm");
  op_of_type(record, "PoolingForward").type = "TopK";
  const Import import = to_graphs(record);
  EXPECT_EQ(import.sizes, (std::map<std::string, std::int64_t>{{"batch", 2}, {"image", 4}}));
  EXPECT_EQ(opaque_nodes(import), 1);
  const ir::Graph& graph = import.package.graphs[0];
  EXPECT_EQ(shape_text(graph.type(graph.find_value("pooled")).shape).substr(0, 7), "[batch,");
  verify_types(sized(import, {{"batch", 1}}).graphs[0]);
}

TEST(Read, AStrideMayGoBackwards) {
  Record record = sample("norm");
  MemPlan& plan = *var_named(record, "data").mem_plan;
  for (std::int64_t& stride : plan.layout.stride) stride = -stride;
  plan.offset = 4 * (2 * 3 * 4 * 4 - 1);
  EXPECT_EQ(read(write(record), record.file), record);
}

}  // namespace
}  // namespace plait::io::megengine
