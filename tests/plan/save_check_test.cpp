// Numbers of a plan that name nothing, or more memory than there is, are refused when it is read.
#include <gtest/gtest.h>

#include "plan/program.h"
#include "tests/plan/small_program.h"
#include "tests/raises.h"

namespace plait::plan {
namespace {

/// What is said of the small program after a change, without what all messages share.
template <class Change>
std::string said_of(Change change) {
  Program p = small_program();
  change(p);
  const std::string said = test::message_of([&] { from_bytes(to_bytes(p), "my.plan"); });
  const std::string_view before = "my.plan: the plan is damaged (", behind = "): compile again";
  EXPECT_TRUE(said.starts_with(before) && said.ends_with(behind)) << said;
  if (said.size() < before.size() + behind.size()) return said;
  return said.substr(before.size(), said.size() - before.size() - behind.size());
}

LoopCall& loop_of(Program& p) { return std::get<LoopCall>(p.steps[0].calls[0]); }
ProductCall& product_of(Program& p) { return std::get<ProductCall>(p.steps[1].calls[0]); }
HandCall& hand_of(Program& p) { return std::get<HandCall>(p.steps[2].calls[0]); }

TEST(SaveCheck, Buffers) {
  EXPECT_EQ(said_of([](Program& p) { p.buffers[3].offset = 128; }),
            "buffer 'y' ends at 192, its space at 128");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[0].bytes = 1 << 20; }),
            "buffer 's' ends at 1048576, its space at 128");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[3].offset = -64; }),
            "there cannot be -64 + 64 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[3].offset = INT64_MAX; }),
            "there cannot be 9223372036854775807 + 64 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[3].offset = 4; }), "buffer 'y' begins at 4");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[2].first = 3; }),
            "buffer 'x' lives from step 3 to 2");
}

TEST(SaveCheck, Values) {
  EXPECT_EQ(said_of([](Program& p) { p.values[3].buffer = 4; }), "'y' names buffer 4, there are 4");
  EXPECT_EQ(said_of([](Program& p) { p.values[3].buffer = -1; }),
            "'y' names buffer -1, there are 4");
  EXPECT_EQ(said_of([](Program& p) {
              p.values[2].layout = {0, 0};
            }),
            "the layout of 'x' is not an order of its 2 axes");
  EXPECT_EQ(said_of([](Program& p) { p.values[2].layout = {0}; }),
            "the layout of 'x' is not an order of its 2 axes");
  EXPECT_EQ(said_of([](Program& p) { p.values[1].type.shape = {17}; }),
            "'c' is f32[17], its buffer has 64 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.values[1].type.shape = {-1}; }),
            "'c' cannot have the size -1");
}

TEST(SaveCheck, Bindings) {
  EXPECT_EQ(said_of([](Program& p) { p.feeds[0].held = 4; }), "'x' names value 4, there are 4");
  EXPECT_EQ(said_of([](Program& p) { p.fetches[0].held = -1; }), "'y' names value -1, there are 4");
  EXPECT_EQ(said_of([](Program& p) { p.states[0].held = 9; }), "'s' names value 9, there are 4");
  EXPECT_EQ(said_of([](Program& p) { p.states[0].held = 1; }), "state 's' is not f32[2]");
  EXPECT_EQ(said_of([](Program& p) { p.rounded[0].held = 5; }), "'s' names value 5, there are 4");
  EXPECT_EQ(said_of([](Program& p) { p.rounded[0].name = "t"; }), "'y' is no copy of a state 't'");
  EXPECT_EQ(said_of([](Program& p) { p.rounded[0].held = 1; }), "'c' is no copy of a state 's'");
  EXPECT_EQ(said_of([](Program& p) { p.constants[0].first = 7; }),
            "'a constant' names value 7, there are 4");
  EXPECT_EQ(said_of([](Program& p) { p.constants[0].second = Array(DType::f32, {3}); }),
            "the constant 'c' is f32[2], its content f32[3]");
}

TEST(SaveCheck, Calls) {
  EXPECT_EQ(said_of([](Program& p) { p.steps[0].reads = {4}; }),
            "'loop' names buffer 4, there are 4");
  EXPECT_EQ(said_of([](Program& p) { p.steps[0].writes = {-2}; }),
            "'loop' names buffer -2, there are 4");
  EXPECT_EQ(said_of([](Program& p) { loop_of(p).buffers[1] = 4; }),
            "'loop' names buffer 4, there are 4");
  EXPECT_EQ(said_of([](Program& p) { loop_of(p).function.name = ""; }),
            "a loop of 'loop' has no function");
  EXPECT_EQ(said_of([](Program& p) { loop_of(p).kept = -1; }), "a loop of 'loop' keeps -1 rows");
  EXPECT_EQ(said_of([](Program& p) { product_of(p).c = -1; }),
            "'product' names buffer -1, there are 4");
  EXPECT_EQ(said_of([](Program& p) { product_of(p).a = 77; }),
            "'product' names buffer 77, there are 4");
  EXPECT_EQ(said_of([](Program& p) {
              product_of(p).parts[0].generated = loop_of(p);
              product_of(p).parts[0].generated.buffers = {5};
            }),
            "'product' names buffer 5, there are 4");
  EXPECT_EQ(said_of([](Program& p) { hand_of(p).input_buffers = {-2}; }),
            "'hand' names buffer -2, there are 4");
  EXPECT_EQ(said_of([](Program& p) { hand_of(p).output_buffers.clear(); }),
            "the operands of 'hand' and their buffers differ in number");
}

TEST(SaveCheck, Workspace) {
  EXPECT_EQ(said_of([](Program& p) { p.threads = 0; }), "there cannot be 0 threads");
  EXPECT_EQ(said_of([](Program& p) { p.scratch_bytes = 63; }),
            "the workspace is larger than its 63 bytes");
  EXPECT_EQ(said_of([](Program& p) {
              p.thread_bytes = INT64_MAX / 2;
              p.threads = 3;
            }),
            "the workspace is larger than its 64 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.arena_bytes = -1; }), "there cannot be 128 + -1 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.steps[1].shared_bytes = 128; }),
            "step 'product' has more workspace than there is");
}

}  // namespace
}  // namespace plait::plan
