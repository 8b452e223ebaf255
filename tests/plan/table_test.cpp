// Planning over the states of another program: their layouts and rounded copies, as text.
#include <gtest/gtest.h>

#include "backends/backends.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "plan/stages.h"
#include "program/verify.h"

namespace plait::plan {
namespace {

ir::Graph passed(const char* text) {
  return run_pipeline(ir::parse_graph(text),
                      {.requested = {"expand"}, .stop_after = "", .after_each = {}})
      .graph;
}

program::Program planned(const char* text, const program::StateTable& table = {}) {
  return make_program(passed(text), *make_plan_target("null", {}), {}, {}, table);
}

std::string after(const std::string& stage, const char* text, const program::StateTable& table) {
  return "\n" + text_after(passed(text), *make_plan_target("null", {}), {}, stage, table);
}

constexpr const char* kTrain = R"(
graph train(x: bf16[4,8], i: f32[1,16,4,4]) state(w: f32[8,8], v: f32[16,16,3,3]) {
  %h = cast(w, dtype=bf16) : bf16[8,8]
  %y = linear(x, %h) : bf16[4,8]
  %d = cast(%y, dtype=f32) : f32[4,8]
  %g = matmul(%d, %d, transpose_a=true) : f32[8,8]
  %w2 = sub(w, %g) : f32[8,8]
  %c = conv2d(i, v, padding=[1,1]) : f32[1,16,4,4]
  next w = %w2
  return %y, %c
})";

TEST(StateTable, IsReadOffTheProgramThatMadeIt) {
  EXPECT_EQ("\n" + program::text(program::table_of(planned(kTrain))), R"(
w f32[8,8] [0,1] advanced
v f32[16,16,3,3] [0,2,3,1]
w bf16[8,8] [0,1] copy advanced
)");
}

TEST(StateTable, ACopyIsReadWhereItsStateIsRounded) {
  const program::StateTable table = program::table_of(planned(kTrain));
  constexpr const char* kEval = R"(
graph eval(x: bf16[2,8]) state(w: f32[8,8], b: bf16[8]) {
  %half = cast(w, dtype=bf16) : bf16[8,8]
  %y = linear(x, %half, b) : bf16[2,8]
  return %y
})";
  EXPECT_EQ(after("keep_rounded", kEval, table), R"(
graph eval(x: bf16[2,8]) state(w: f32[8,8], b: bf16[8], half.kept: bf16[8,8] as slot) {
  %y = linear(x, half.kept, b)           : bf16[2,8]
  return %y
}
)");
  EXPECT_EQ("\n" + program::text(program::table_of(planned(kEval, table))), R"(
w f32[8,8] [0,1] advanced
v f32[16,16,3,3] [0,2,3,1]
w bf16[8,8] [0,1] copy advanced
b bf16[8] [0]
)");
}

TEST(StateTable, ACopyIsAdvancedWithItsState) {
  const program::StateTable table = program::table_of(planned(kTrain));
  constexpr const char* kApply = R"(
graph apply(g: f32[8,8]) state(w: f32[8,8]) {
  %n = add(w, g) : f32[8,8]
  next w = %n
})";
  EXPECT_EQ(after("keep_rounded", kApply, table), R"(
graph apply(g: f32[8,8]) state(w: f32[8,8], w.bf16.kept: bf16[8,8] as slot) {
  %n = add(w, g)                         : f32[8,8]
  %w.bf16 = cast(%n, dtype=bf16)         : bf16[8,8]
  next w = %n
  next w.bf16.kept = %w.bf16
}
)");
}

TEST(StateTable, AStateThatAProgramBeforeAdvancesGetsNoNewCopy) {
  constexpr const char* kApply = R"(
graph apply(g: f32[8,8]) state(w: f32[8,8]) {
  %n = add(w, g) : f32[8,8]
  next w = %n
})";
  const program::StateTable table = program::table_of(planned(kApply));
  EXPECT_EQ(planned(kTrain, table).rounded.size(), 0u);
  EXPECT_EQ(planned(kTrain).rounded.size(), 1u);
}

TEST(StateTable, AnotherLayoutIsReadAndWrittenThroughACopy) {
  const program::StateTable table = program::table_of(planned(kTrain));
  constexpr const char* kScan = R"(
graph scan() state(v: f32[16,16,3,3]) {
  %s = cumsum(v, axis=1) : f32[16,16,3,3]
  next v = %s
})";
  EXPECT_EQ(after("layout", kScan, table), R"(
v  [0,2,3,1]
%s.laid  [0,2,3,1]
)");
  const program::Program p = planned(kScan, table);
  ASSERT_EQ(p.steps.size(), 3u);
  EXPECT_EQ(p.steps[0].name, "v.laid");
  EXPECT_EQ(p.steps[1].kind, "cumsum");
  EXPECT_EQ(p.steps[2].name, "s.laid");
}

TEST(StateTable, AProgramIsPlannedAgainOverItsOwnTable) {
  program::StateTable table;
  for (const char* text : {kTrain, R"(
graph eval(x: bf16[2,8]) state(w: f32[8,8], b: bf16[8]) {
  %half = cast(w, dtype=bf16) : bf16[8,8]
  %y = linear(x, %half, b) : bf16[2,8]
  return %y
})"}) {
    const program::Program made = planned(text, table);
    table = program::table_of(made);
    EXPECT_EQ(program::difference(planned(text, table), made), "");
  }
}

}  // namespace
}  // namespace plait::plan
