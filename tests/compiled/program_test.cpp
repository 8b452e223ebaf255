// What a training step's program promises besides its numbers: parameters advance in their own
// memory, nothing is allocated from the system either, and running it kernel by kernel changes no
// bit.
#include <malloc.h>

#include <map>

#include "models/registry.h"
#include "ops/initializers.h"
#include "run/executor.h"
#include "tests/compiled/compiled_case.h"

namespace plait::test {
namespace {

class Programs : public CompiledCase, public testing::WithParamInterface<const char*> {
 protected:
  static Executor executor_of(const ir::Graph& graph) {
    const auto target = target_under_test();
    Executor made(compile(graph, *target).program, target->open());
    for (const program::StateBinding& s : made.program().states) {
      made.memory().set_state(s.state.name, initial_value(s.state, 0));
    }
    give_feeds(graph, made);
    return made;
  }
  static void give_feeds(const ir::Graph& graph, Executor& executor) {
    for (ir::ValueId id : graph.feeds) {
      executor.set_feed(graph.value(id).name, random_feed(graph, id, 1));
    }
  }
  static Arrays states_of(const Executor& executor) {
    Arrays out;
    for (const program::StateBinding& s : executor.program().states) {
      out[s.state.name] = executor.state(s.state.name);
    }
    return out;
  }
  ir::Graph graph = models::build(GetParam()).graphs.at(0);
};

TEST_P(Programs, StatesAdvanceInPlace) {
  const program::Program program = compile(graph, *target_under_test()).program;
  std::size_t in_place = 0;
  for (const LogEntry& e : program.log) {
    if (e.pass != "place" || !e.node.starts_with("state ")) continue;
    EXPECT_EQ(e.what, "in place") << e.node << ": " << e.why;
    ++in_place;
  }
  EXPECT_EQ(in_place, graph.nexts.size());
  for (const program::Step& s : program.steps) EXPECT_NE(s.kind, "copy") << s.name;
}

TEST_P(Programs, AStepTakesNoMemoryFromTheSystem) {
  if (tested() != Tested::kCpu) GTEST_SKIP() << "a driver has memory of its own";
  Executor executor = executor_of(graph);
  executor.run();
  give_feeds(graph, executor);
  // A worker that wakes late takes its first memory in a later run: a step that takes some takes it
  // every time.
  std::size_t taken = 0;
  for (int run = 0; run < 5; ++run) {
    const struct mallinfo2 before = mallinfo2();
    executor.run();
    const struct mallinfo2 after = mallinfo2();
    taken = after.uordblks - before.uordblks + after.hblkhd - before.hblkhd + after.arena -
            before.arena;
    if (taken == 0) break;
  }
  EXPECT_EQ(taken, 0u);
}

TEST_P(Programs, KernelByKernelIsTheSame) {
  Executor whole = executor_of(graph), apart = executor_of(graph);
  std::size_t ran = 0, runs = 0;
  for (; runs < 2 || !whole.is_settled(); ++runs) {
    whole.run();
    apart.run_steps([](std::size_t) {}, [&](std::size_t) { ++ran; });
    EXPECT_EQ(differing_bits(states_of(whole), states_of(apart)), "") << "after run " << runs;
    give_feeds(graph, whole);
    give_feeds(graph, apart);
  }
  EXPECT_EQ(ran, runs * apart.program().steps.size());
}

TEST_P(Programs, FilledStatesAreThePatternOverAndOver) {
  Executor executor = executor_of(graph);
  for (const program::StateBinding& s : executor.program().states) {
    executor.memory().fill_state(s.state.name, Array::of(s.state.type.dtype, {3}, {1, 2, 3}));
    const Array got = executor.state(s.state.name);  // in the order of its memory or another
    std::map<std::int64_t, std::int64_t> count;
    for (std::int64_t i = 0; i < got.count(); ++i) ++count[static_cast<std::int64_t>(got.real(i))];
    for (std::int64_t v : {1, 2, 3}) {
      EXPECT_EQ(count[v], (got.count() + 3 - v) / 3) << s.state.name << " has so many " << v;
    }
  }
}

std::vector<const char*> trained_models() {
  if (tested() == Tested::kEmulated) return {"mlp?train=1&dtype=f32"};
  return {"mlp?train=1&dtype=f32", "vgg19?batch=2&image=32&width=8&hidden=32&train=1",
          "rwkv4?layers=2&width=32&vocab=64&context=16&copy=8&batch=2&train=1"};
}

INSTANTIATE_TEST_SUITE_P(Specs, Programs, testing::ValuesIn(trained_models()),
                         [](const auto& info) {
                           const std::string_view spec = info.param;
                           return std::string(spec.substr(0, spec.find('?')));
                         });

}  // namespace
}  // namespace plait::test
