// The table of backends: what each does with a node, and the error for one that is not there.
#include "backends/backends.h"

#include <gtest/gtest.h>

#include "ops/samples.h"
#include "ops/table.h"
#include "run/session.h"
#include "tests/raises.h"

namespace plait {
namespace {

TEST(Backends, UnknownNameListsWhatThereIs) {
  try {
    make_target("rfe");
    FAIL() << "made a backend that does not exist";
  } catch (const UserError& e) {
    EXPECT_STREQ(
        e.what(),
        "there is no backend 'rfe' in this build; there are ref, null, cpu, cuda. Did you mean "
        "'ref'?");
  }
}

TEST(Backends, NullMakesZerosOfTheRightTypeForEveryOp) {
  for (const Op* op : all_ops()) {
    const Sample sample = samples_of(*op)[0];
    const ir::Graph graph = sample_graph(*op, sample);
    const std::vector<Array> given = sample_feeds(sample, DType::f32, 1);
    Arrays feeds;
    for (std::size_t i = 0; i < given.size(); ++i) {
      feeds.emplace(graph.value(graph.feeds[i]).name, given[i]);
    }
    Session null = make_session({{graph}}, "null");
    const Arrays results = null.run({"", feeds, {}});
    ASSERT_EQ(results.size(), graph.fetches.size()) << op->name;
    for (const ir::Fetch& f : graph.fetches) {
      const Array& result = results.at(f.name);
      EXPECT_EQ(type_text(result), type_text(graph.type(f.value))) << op->name;
      if (null.program({}).steps.empty()) continue;  // a constant, or what was fed
      for (std::int64_t e = 0; e < result.count(); ++e) EXPECT_EQ(result.real(e), 0.0) << op->name;
    }
  }
}

TEST(Backends, AFailureNamesTheNode) {
  const ir::Graph graph = sample_graph(op_named("floor_div"), samples_of(op_named("floor_div"))[1]);
  const Array a = Array::of(DType::i64, {9}, std::vector<double>(9, 4));
  Session ref = make_session({{graph}}, "ref");
  EXPECT_EQ(test::message_of<RunError>([&] {
              ref.run({"", {{"x0", a}, {"x1", Array(DType::i64, {9})}}, {}});
            }),
            "[floor_div] integer division by zero (%floor_div)");
}

}  // namespace
}  // namespace plait
