// The table of backends: what each does with a node, and the error for one that is not there.
#include "backends/backends.h"

#include <gtest/gtest.h>

#include "ops/samples.h"
#include "ops/table.h"

namespace plait {
namespace {

TEST(Backends, UnknownNameListsWhatThereIs) {
  try {
    make_backend("rfe");
    FAIL() << "made a backend that does not exist";
  } catch (const UserError& e) {
    EXPECT_STREQ(
        e.what(),
        "there is no backend 'rfe' in this build; there are ref, null, cpu, cuda. Did you mean "
        "'ref'?");
  }
}

TEST(Backends, NullMakesZerosOfTheRightTypeForEveryOp) {
  auto null = make_backend("null");
  for (const Op* op : all_ops()) {
    const Sample sample = samples_of(*op)[0];
    const ir::Graph graph = sample_graph(*op, sample);
    const std::vector<Array> feeds = sample_feeds(sample, DType::f32, 1);
    std::vector<const Array*> inputs;
    std::size_t next = 0;
    const ir::Node& node = graph.nodes[0];
    for (ir::ValueId id : node.inputs) {
      inputs.push_back(id == ir::kNone ? nullptr : &feeds[next++]);
    }
    const std::vector<Array> results = null->execute(view_of(graph, node), inputs);
    ASSERT_EQ(results.size(), node.outputs.size()) << op->name;
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(type_text(results[i]), type_text(graph.type(node.outputs[i]))) << op->name;
      for (std::int64_t e = 0; e < results[i].count(); ++e) EXPECT_EQ(results[i].real(e), 0.0);
    }
  }
}

TEST(Backends, AFailureNamesTheNode) {
  auto ref = make_backend("ref");
  const ir::Graph graph = sample_graph(op_named("floor_div"), samples_of(op_named("floor_div"))[1]);
  const Array a = Array::of(DType::i64, {9}, std::vector<double>(9, 4));
  const Array zeros(DType::i64, {9});
  try {
    ref->execute(view_of(graph, graph.nodes[0]), {&a, &zeros});
    FAIL() << "divided by zero";
  } catch (const RunError& e) {
    EXPECT_STREQ(e.what(), "[floor_div] integer division by zero (%floor_div)");
  }
}

}  // namespace
}  // namespace plait
