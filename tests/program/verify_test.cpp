// A plan whose numbers name nothing or more memory than there is, whose steps read what nobody
// wrote or whose buffers meet is refused when it is read.
#include <gtest/gtest.h>

#include "program/verify.h"
#include "tests/program/small_program.h"
#include "tests/raises.h"

namespace plait::program {
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

/// Nothing is said: the program verifies.
template <class Change>
void expect_fine(Change change) {
  Program p = small_program();
  change(p);
  EXPECT_NO_THROW(from_bytes(to_bytes(p), "my.plan"));
}

/// One more value, in a buffer of the program.
ViewId add_view(Program& p, const std::string& name, const ir::Type& type, BufferId buffer,
                std::int64_t offset = 0) {
  p.views.push_back({name, type, default_layout(type.shape.size()), buffer, offset});
  return ViewId(p.views.size() - 1);
}

LoopCall& loop_of(Program& p) { return std::get<LoopCall>(p.steps[0].calls[0]); }
ProductCall& product_of(Program& p) { return std::get<ProductCall>(p.steps[1].calls[0]); }
HandCall& hand_of(Program& p) { return std::get<HandCall>(p.steps[2].calls[0]); }

TEST(ProgramVerify, SmallProgram) { verify(small_program()); }

TEST(ProgramVerify, Buffers) {
  EXPECT_EQ(said_of([](Program& p) { p.buffers[3].offset = 128; }),
            "buffer 'y' ends at 192, its region at 128");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[0].bytes = 1 << 20; }),
            "buffer 's' ends at 1048576, its region at 128");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[3].offset = -64; }),
            "there cannot be -64 + 64 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[3].offset = INT64_MAX; }),
            "there cannot be 9223372036854775807 + 64 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[3].offset = 4; }), "buffer 'y' begins at 4");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[2].first = 3; }),
            "buffer 'x' lives from step 3 to 2");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[2].first = -1; }),
            "buffer 'x' lives from step -1 to 2");
}

TEST(ProgramVerify, Views) {
  EXPECT_EQ(said_of([](Program& p) { p.views[3].buffer = BufferId(5); }),
            "'y' is in buffer 5, there are 5");
  EXPECT_EQ(said_of([](Program& p) { p.views[3].buffer = {}; }),
            "'y' is in buffer -1, there are 5");
  EXPECT_EQ(said_of([](Program& p) {
              p.views[2].layout = {0, 0};
            }),
            "the layout of 'x' is not an order of its 2 axes");
  EXPECT_EQ(said_of([](Program& p) { p.views[2].layout = {0}; }),
            "the layout of 'x' is not an order of its 2 axes");
  EXPECT_EQ(said_of([](Program& p) { p.views[1].type.shape = {17}; }),
            "'c' is f32[17], its buffer has 64 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.views[1].offset = 60; }),
            "'c' is f32[2], its buffer has 4 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.views[1].offset = -4; }), "there cannot be -4 + 8 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.views[1].type.shape = {-1}; }),
            "'c' cannot have the size -1");
  expect_fine([](Program& p) { p.views[1].offset = 56; });
}

TEST(ProgramVerify, Bindings) {
  EXPECT_EQ(said_of([](Program& p) { p.feeds[0].view = ViewId(5); }),
            "'x' names value 5, there are 5");
  EXPECT_EQ(said_of([](Program& p) { p.fetches[0].view = {}; }), "'y' names value -1, there are 5");
  EXPECT_EQ(said_of([](Program& p) { p.states[0].view = ViewId(9); }),
            "'s' names value 9, there are 5");
  EXPECT_EQ(said_of([](Program& p) { p.states[0].view = kC; }), "state 's' is not f32[2]");
  EXPECT_EQ(said_of([](Program& p) { p.rounded[0].view = ViewId(5); }),
            "'s' names value 5, there are 5");
  EXPECT_EQ(said_of([](Program& p) { p.rounded[0].name = "t"; }),
            "'s.kept' is no copy of a state 't'");
  EXPECT_EQ(said_of([](Program& p) { p.rounded[0].view = kC; }), "'c' is no copy of a state 's'");
  EXPECT_EQ(said_of([](Program& p) { p.constants[0].first = ViewId(7); }),
            "'a constant' names value 7, there are 5");
  EXPECT_EQ(said_of([](Program& p) { p.constants[0].second = Array(DType::f32, {3}); }),
            "the constant 'c' is f32[2], its content f32[3]");
}

TEST(ProgramVerify, Calls) {
  EXPECT_EQ(said_of([](Program& p) { loop_of(p).arguments[1].view = ViewId(5); }),
            "'loop' names value 5, there are 5");
  EXPECT_EQ(said_of([](Program& p) { loop_of(p).arguments[0].view = {}; }),
            "'loop' names value -1, there are 5");
  EXPECT_EQ(said_of([](Program& p) { loop_of(p).function.name = ""; }),
            "step 'loop' calls '', of which there is no text");
  EXPECT_EQ(said_of([](Program& p) { p.texts.clear(); }),
            "step 'loop' calls 'k_1', of which there is no text");
  EXPECT_EQ(said_of([](Program& p) { product_of(p).parts[0].epilogue.name = "k_e"; }),
            "step 'product' calls 'k_e', of which there is no text");
  EXPECT_EQ(said_of([](Program& p) { p.texts.erase("hand_1"); }),
            "step 'hand' is made of 'hand_1', of which there is no text");
  EXPECT_EQ(said_of([](Program& p) { loop_of(p).scratch_rows = -1; }),
            "a loop of 'loop' keeps -1 rows");
  EXPECT_EQ(said_of([](Program& p) { product_of(p).c = {}; }),
            "'product' names value -1, there are 5");
  EXPECT_EQ(said_of([](Program& p) { product_of(p).b = {}; }),
            "'product' names value -1, there are 5");
  EXPECT_EQ(said_of([](Program& p) { product_of(p).a = ViewId(77); }),
            "'product' names value 77, there are 5");
  EXPECT_EQ(said_of([](Program& p) { product_of(p).parts[0].arguments = {{ViewId(6)}}; }),
            "'product' names value 6, there are 5");
  EXPECT_EQ(said_of([](Program& p) {
              product_of(p).parts[0].generated = loop_of(p);
              product_of(p).parts[0].generated.arguments = {{ViewId(5)}};
            }),
            "'product' names value 5, there are 5");
  EXPECT_EQ(said_of([](Program& p) { hand_of(p).input_views = {ViewId(6)}; }),
            "'hand' names value 6, there are 5");
  EXPECT_EQ(said_of([](Program& p) { hand_of(p).output_views.clear(); }),
            "the operands of 'hand' and their types differ in number");
  EXPECT_EQ(said_of([](Program& p) { hand_of(p).input_views.push_back(kS); }),
            "the operands of 'hand' and their types differ in number");
  expect_fine([](Program& p) { hand_of(p).output_views = {ViewId()}; });
}

/// One launch of several products: where a library's lies apart, it is no value.
TEST(ProgramVerify, TableCalls) {
  const auto grouped = [](Program& p) -> LoopCall& {
    ProductCall& product = product_of(p);
    product.c = {};
    ProductCall::Part& part = product.parts[0];
    part.arguments = {{}, {kY, Access::kWrite}};
    part.generated.function.name = "k_pair";
    p.texts["k_pair"] = "";
    part.generated.table = true;
    part.generated.arguments = {{kX}, {kS}, {{}, Access::kWrite}};
    return part.generated;
  };
  expect_fine(grouped);
  EXPECT_EQ(said_of([&](Program& p) { grouped(p).table = false; }),
            "'product' names value -1, there are 5");
  EXPECT_EQ(said_of([&](Program& p) { grouped(p).arguments[0].view = ViewId(8); }),
            "'product' names value 8, there are 5");
}

TEST(ProgramVerify, Workspace) {
  EXPECT_EQ(said_of([](Program& p) { p.threads = 0; }), "there cannot be 0 threads");
  EXPECT_EQ(said_of([](Program& p) { p.threads = 4097; }), "there cannot be 4097 threads");
  EXPECT_EQ(said_of([](Program& p) { p.streams = 0; }), "there cannot be 0 streams");
  EXPECT_EQ(said_of([](Program& p) { p.streams = 1 << 30; }), "there cannot be 1073741824 streams");
  EXPECT_EQ(said_of([](Program& p) { p.scratch_bytes = 127; }),
            "the workspace is larger than its 127 bytes");
  EXPECT_EQ(said_of([](Program& p) {
              p.thread_bytes = INT64_MAX / 2;
              p.threads = 3;
            }),
            "the workspace is larger than its 128 bytes");
  EXPECT_EQ(said_of([](Program& p) {
              p.side_bytes = 1;
              p.streams = 2;
            }),
            "the workspace is larger than its 128 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.arena_bytes = -1; }), "there cannot be 192 + -1 bytes");
  EXPECT_EQ(said_of([](Program& p) { p.steps[1].shared_bytes = 128; }),
            "step 'product' has more workspace than there is");
  EXPECT_EQ(said_of([](Program& p) { p.steps[1].thread_bytes = 1; }),
            "step 'product' has more workspace than there is");
}

TEST(ProgramVerify, WorkspaceOfCalls) {
  EXPECT_EQ(said_of([](Program& p) {
              loop_of(p).workspace = {0, 1};
            }),
            "a call of 'loop' has workspace up to 1 of 0");
  EXPECT_EQ(said_of([](Program& p) {
              hand_of(p).workspace = {8, 0};
            }),
            "a call of 'hand' has workspace up to 8 of 0");
  EXPECT_EQ(said_of([](Program& p) {
              product_of(p).parts[0].workspace = {1, 64};
            }),
            "a call of 'product' has workspace up to 65 of 64");
  EXPECT_EQ(said_of([](Program& p) {
              product_of(p).parts[0].workspace = {-1, 2};
            }),
            "there cannot be -1 + 2 bytes");
  EXPECT_EQ(said_of([](Program& p) {
              product_of(p).parts[0].packed = {64, 64};
            }),
            "a call of 'product' has workspace up to 128 of 64");
}

// --- What is in a buffer, and when. ---

TEST(ProgramVerify, ReadBeforeItIsWritten) {
  EXPECT_EQ(said_of([](Program& p) { loop_of(p).arguments[0].view = kY; }),
            "step 'loop' reads 'y', which is not in its buffer then");
  EXPECT_EQ(said_of([](Program& p) { p.feeds.clear(), loop_of(p).arguments[0].view = kX; }),
            "step 'loop' reads 'x', which is not in its buffer then");
  EXPECT_EQ(said_of([](Program& p) { p.constants.clear(), loop_of(p).arguments[0].view = kC; }),
            "step 'loop' reads 'c', which is not in its buffer then");
  EXPECT_EQ(said_of([](Program& p) { std::swap(p.steps[1], p.steps[2]); }),
            "step 'hand' reads 'y', which is not in its buffer then");
  expect_fine([](Program& p) { loop_of(p).arguments[0].view = kX; });
  expect_fine([](Program& p) { loop_of(p).arguments[0].view = kC; });
  expect_fine([](Program& p) { loop_of(p).arguments[0].view = kCopy; });
}

TEST(ProgramVerify, ReadAfterAnotherTookItsPlace) {
  // Other bytes of one buffer: both values stay.
  const auto beside = [](Program& p, std::int64_t offset) {
    p.buffers[2].bytes = p.buffers[3].offset = 128;
    p.arena_bytes = 192;
    const ViewId z = add_view(p, "z", {DType::i8, {1}}, BufferId(2), offset);
    hand_of(p).output_views = {z};
    p.fetches.push_back({"x", kX});
  };
  EXPECT_EQ(said_of([&](Program& p) { beside(p, 63); }),
            "fetch 'x' reads 'x', which is not in its buffer then");
  expect_fine([&](Program& p) { beside(p, 64); });
  EXPECT_EQ(said_of([](Program& p) {
              loop_of(p).arguments[1].view = add_view(p, "z", {DType::f32, {1}}, BufferId(2));
            }),
            "step 'product' reads 'x', which is not in its buffer then");
}

TEST(ProgramVerify, FetchOfWhatNobodyWrote) {
  EXPECT_EQ(said_of([](Program& p) {
              p.fetches[0].view = add_view(p, "z", {DType::f32, {1}}, BufferId(3));
            }),
            "fetch 'y' reads 'z', which is not in its buffer then");
  expect_fine([](Program& p) {  // nothing is read
    p.fetches[0].view = add_view(p, "z", {DType::f32, {0}}, BufferId(3));
  });
}

TEST(ProgramVerify, UseOutsideOfABuffersLife) {
  EXPECT_EQ(said_of([](Program& p) { p.buffers[3].first = 2; }),
            "step 'product' uses 'y', whose buffer lives from step 2 to 2");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[2].last = 1; }),
            "step 'hand' uses 'x', whose buffer lives from step 0 to 1");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[2].first = 1; }),
            "step 'loop' uses 'x', whose buffer lives from step 1 to 2");
  // States and constants always live.
  expect_fine([](Program& p) { p.buffers[0].first = p.buffers[0].last = 2; });
}

TEST(ProgramVerify, WriteOfAConstant) {
  EXPECT_EQ(said_of([](Program& p) { hand_of(p).output_views = {kC}; }),
            "step 'hand' writes the constant 'c'");
}

TEST(ProgramVerify, CallsOfOneStep) {
  const auto joined = [](Program& p, ViewId read, ViewId written) {
    LoopCall more = loop_of(p);
    more.arguments = {{read}, {written, Access::kWrite}};
    p.steps[1].calls.push_back(more);
  };
  EXPECT_EQ(said_of([&](Program& p) { joined(p, kS, kX); }),  // the product's operand
            "two calls of step 'product' meet in 'x'");
  EXPECT_EQ(said_of([&](Program& p) {  // the product's result
              p.buffers[3].first = 0;
              loop_of(p).arguments.push_back({kY, Access::kWrite});
              joined(p, kY, kCopy);
            }),
            "two calls of step 'product' meet in 'y'");
  expect_fine([](Program& p) {  // parts of one value, each in place of what its call reads
    p.steps[1].calls.clear();
    p.steps[2].calls.clear();
    const ViewId z = add_view(p, "z", p.view(kX).type, BufferId(2));
    LoopCall part = loop_of(p);
    part.arguments = {{kX}, {z, Access::kWrite}};
    p.steps[1].calls = {part, part};
    p.fetches = {{"z", z}};
  });
  EXPECT_EQ(said_of([&](Program& p) {  // bytes of the product's result
              joined(p, kS, add_view(p, "z", {DType::f32, {1}}, BufferId(3), 4));
            }),
            "two calls of step 'product' meet in 'y'");
  expect_fine([&](Program& p) { joined(p, kX, kCopy); });  // both read x
  expect_fine([&](Program& p) { joined(p, kS, kY); });     // each a part of y
}

/// Its copy keeps up with it.
void advance(Program& p) {
  p.states[0].advanced = true;
  LoopCall rounds = loop_of(p);
  rounds.arguments = {{kS}, {kCopy, Access::kWrite}};
  p.steps[1].calls.push_back(rounds);
}

TEST(ProgramVerify, StatesAtTheEnd) {
  EXPECT_EQ(said_of([](Program& p) {  // half of it is another value
              advance(p);
              hand_of(p).output_views = {add_view(p, "z", {DType::f32, {2}}, BufferId(0), 8)};
            }),
            "the buffer of state 's' ends with something else");
  const auto next = [](const ir::Type& type) {
    return [type](Program& p) {
      advance(p);
      hand_of(p).output_views = {add_view(p, "next", type, BufferId(0))};
    };
  };
  const Dim n = small_program().symbols["n"];
  EXPECT_EQ(said_of(next({DType::i32, {n, 4}})),
            "the buffer of state 's' ends with something else");
  EXPECT_EQ(said_of(next({DType::f32, {4, n}})),
            "the buffer of state 's' ends with something else");
  expect_fine(next({DType::f32, {n, 4}}));
  EXPECT_EQ(said_of([&](Program& p) {
              next({DType::f32, {n, 4}})(p);
              p.views.back().layout = {1, 0};
            }),
            "the buffer of state 's' ends with something else");
  EXPECT_EQ(said_of([&](Program& p) {
              next({DType::f32, {n, 4}})(p);
              p.states[0].advanced = false;
            }),
            "state 's' gets next values, which its binding does not say");
  EXPECT_EQ(said_of([&](Program& p) {
              next({DType::f32, {n, 4}})(p);
              p.steps[1].calls.pop_back();
            }),
            "'s.kept' keeps what state 's' was");
}

TEST(ProgramVerify, BuffersThatLiveAtOneTime) {
  EXPECT_EQ(said_of([](Program& p) { p.buffers[3].offset = 0; }),
            "buffers 'y' and 'x' live at one time and overlap");
  EXPECT_EQ(said_of([](Program& p) {
              p.arena_bytes = 192;
              p.buffers[2].bytes = 128;
            }),
            "buffers 'y' and 'x' live at one time and overlap");
  EXPECT_EQ(said_of([](Program& p) { p.buffers[4].offset = 0; }),
            "buffers 's.kept' and 's' live at one time and overlap");
  expect_fine([](Program& p) { p.buffers[1].offset = 0; });  // constants are no states
  EXPECT_EQ(said_of([](Program& p) {
              p.buffers.push_back({"d", Region::kConstant, 64, 0, 0, 2});
            }),
            "buffers 'd' and 'c' live at one time and overlap");
  // A step's result may lie where another buffer ended the step before, not where one ends.
  const auto after = [](int first) {
    return [first](Program& p) {
      p.buffers[2].last = 1;
      p.buffers.push_back({"z", Region::kArena, 64, 0, first, 2});
      hand_of(p).output_views = {add_view(p, "z", {DType::f32, {4}}, BufferId(5))};
    };
  };
  expect_fine(after(2));
  EXPECT_EQ(said_of(after(1)), "buffers 'z' and 'x' live at one time and overlap");
  expect_fine([](Program& p) {  // nothing lies nowhere
    p.buffers.push_back({"z", Region::kArena, 0, 0, 0, 2});
  });
}

// --- Steps of several streams. ---

/// The product on a stream of its own: behind the loop, before the hand kernel.
void use_two_streams(Program& p) {
  p.streams = 2;
  p.side_bytes = 64;
  p.scratch_bytes = 192;
  p.steps[1].stream = 1;
  p.steps[1].waits = {StepId(0)};
  p.steps[2].waits = {StepId(1)};
}

/// What is said of the small program on two streams after a change.
template <class Change>
std::string said_of_two(Change change) {
  return said_of([&](Program& p) { use_two_streams(p), change(p); });
}

TEST(ProgramVerify, StepsOfStreams) {
  expect_fine(use_two_streams);
  EXPECT_EQ(said_of_two([](Program& p) { p.steps[1].stream = 2; }),
            "step 'product' is on stream 2 of 2");
  EXPECT_EQ(said_of_two([](Program& p) { p.steps[1].stream = -1; }),
            "step 'product' is on stream -1 of 2");
  EXPECT_EQ(said_of_two([](Program& p) { p.side_bytes = 63; }),
            "step 'product' has more workspace than its stream");
  EXPECT_EQ(said_of_two([](Program& p) { p.steps[1].waits = {StepId(1)}; }),
            "step 'product' waits for step 1, which is not before it");
  EXPECT_EQ(said_of_two([](Program& p) { p.steps[1].waits = {StepId()}; }),
            "step 'product' waits for step -1, which is not before it");
}

TEST(ProgramVerify, WaitsOfStepsThatMeet) {
  const std::string_view behind_loop =
      "step 'product' does not wait for step 'loop', which it meets in memory";
  const std::string_view behind_product =
      "step 'hand' does not wait for step 'product', which it meets in memory";
  EXPECT_EQ(said_of_two([](Program& p) { p.steps[1].waits.clear(); }), behind_loop);  // reads x
  EXPECT_EQ(said_of_two([](Program& p) { p.steps[2].waits = {StepId(0)}; }), behind_product);
  EXPECT_EQ(said_of_two([](Program& p) {  // writes what the product reads, and nothing else
              p.steps[2].waits.clear();
              hand_of(p).input_views = {kS};
            }),
            behind_product);
  const auto reuse = [](Program& p) {  // writes where x was before
    p.buffers[2].last = 1;
    p.buffers.push_back({"z", Region::kArena, 64, 0, 2, 2});
    hand_of(p).input_views = {kS};
    hand_of(p).output_views = {add_view(p, "z", p.view(kX).type, BufferId(5))};
  };
  expect_fine([&](Program& p) { use_two_streams(p), reuse(p); });
  EXPECT_EQ(said_of_two([&](Program& p) { reuse(p), p.steps[2].waits.clear(); }), behind_product);
  expect_fine([](Program& p) {  // by the stream's order, and by what the product waited for
    use_two_streams(p);
    p.steps[2].stream = 1;
    p.steps[2].waits.clear();
  });
  expect_fine([](Program& p) {  // both read s
    use_two_streams(p);
    p.steps[1].waits.clear();
    loop_of(p).arguments = {{kS}, {kCopy, Access::kWrite}};
  });
}

}  // namespace
}  // namespace plait::program
