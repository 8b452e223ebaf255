// What each stage of planning leaves: text in, text out, on the null target.
#include "plan/stages.h"

#include <gtest/gtest.h>

#include "backends/backends.h"
#include "ir/text.h"
#include "passes/pipeline.h"
#include "tests/raises.h"

namespace plait::plan {
namespace {

std::string after(const std::string& stage, const char* text) {
  const ir::Graph graph = run_pipeline(ir::parse_graph(text), {.requested = {"expand"}}).graph;
  return "\n" + text_after(graph, *make_plan_target("null", {}), {}, stage);
}

constexpr const char* kStep = R"(
graph g(x: f32[4,8], t: f32[4,3]) state(w: f32[3,8], b: f32[3]) {
  %y = linear(x, w, b) : f32[4,3]
  %r = relu(%y) : f32[4,3]
  %s = softmax(%r, axis=1) : f32[4,3]
  %d = sub(%s, t) : f32[4,3]
  %g = matmul(%d, x, transpose_a=true) : f32[3,8]
  %w2 = sub(w, %g) : f32[3,8]
  next w = %w2
  return loss = %d
})";

constexpr const char* kImage = R"(
graph g(x: f32[2,3,8,8]) state(w: f32[4,3,3,3]) {
  %y = conv2d(x, w, padding=[1,1]) : f32[2,4,8,8]
  %r = relu(%y) : f32[2,4,8,8]
  %p = max_pool2d(%r, kernel=[2,2]) : f32[2,4,4,4]
  return %p
})";

TEST(Stages, AnUnknownOneIsNamed) {
  EXPECT_EQ(test::message_of([] { after("plac", kStep); }),
            "there is no stage 'plac'. Did you mean 'place'? The stages are keep_rounded, facts, "
            "layout, group, choose, order, recompute, batch, join, place, streams, code");
}

TEST(Stages, FactsSayWhatKindOfWorkANodeIs) {
  EXPECT_EQ(after("facts", kStep), R"(
%y  contract, 2 operations a point
%r  point, 1 operations a point
%s.max  reduce
%s.sub  point, 1 operations a point
%s.exp  point, 1 operations a point, expensive
%s.sum  reduce
%s  point, 1 operations a point, expensive
%d  point, 1 operations a point
%g  contract, 1 operations a point
%w2  point, 1 operations a point
)");
}

TEST(Stages, OfRefEveryNodeIsAStepAndStatesAreReplacedBehindThem) {
  const ir::Graph graph = ir::parse_graph(kStep);
  const auto ref = make_plan_target("ref", {});
  EXPECT_EQ("\n" + text_after(graph, *ref, {}, "join"), R"(
step 0 ref.linear linear  (x, w, b) -> (%y)
step 1 ref.relu relu  (%y) -> (%r)
step 2 ref.softmax softmax  (%r) -> (%s)
step 3 ref.sub sub  (%s, t) -> (%d)
step 4 ref.matmul matmul  (%d, x) -> (%g)
step 5 ref.sub sub  (w, %g) -> (%w2)
)");
  const program::Program program = make_program(graph, *ref);
  ASSERT_EQ(program.steps.size(), 7u);
  EXPECT_EQ(program.steps.back().kernel, "ref.copy");
  EXPECT_EQ(program.steps.back().name, "w");
}

TEST(Stages, OfRefMemoryIsUsedAgain) {
  const ir::Graph graph = ir::parse_graph(R"(
graph g(x: f32[1024]) {
  %a = neg(x) : f32[1024]
  %b = neg(%a) : f32[1024]
  %c = neg(%b) : f32[1024]
  %d = neg(%c) : f32[1024]
  return %d
})");
  EXPECT_EQ(make_program(graph, *make_plan_target("ref", {})).arena_bytes, 2 * 4096);
}

TEST(Stages, LayoutPutsChannelsLast) {
  EXPECT_EQ(after("layout", kStep), "\n");
  EXPECT_EQ(after("layout", kImage), R"(
x  [0,2,3,1]
w  [0,2,3,1]
%y  [0,2,3,1]
%r  [0,2,3,1]
%p  [0,2,3,1]
)");
}

TEST(Stages, GroupPutsEpiloguesBehindProductsAndRowsTogether) {
  EXPECT_EQ(after("group", kStep), R"(
group 0 contract over [4,3]
  %y = linear
  %r = relu, stored
group 1 loop over [4] x [3]
  %s.max = max by row
  %s.sub = sub
  %s.exp = exp
  %s.sum = sum by row
  %s = div
  %d = sub, stored
group 2 contract over [3,8]
  %g = matmul
  %w2 = sub, stored
)");
}

/// The group of the gradient of a weight that is read twice: by a product over `%e`, and so many
/// nodes later by what ends in a scan.
std::string group_of_shared_weight(int between) {
  std::string text = R"(graph g(x: f32[4000,800], u: f32[9000,4000]) state(w: f32[9000,800]) {
    %y = linear(x, w) : f32[4000,9000]
    %e = exp(%y) : f32[4000,9000]
    %p = matmul(%e, x, transpose_a=true) : f32[9000,800]
    %c0 = tanh(x) : f32[4000,800])";
  for (int i = 1; i <= between; ++i) {
    text += str("\n%c", i, " = tanh(%c", i - 1, ") : f32[4000,800]");
  }
  text += str("\n%q = matmul(u, %c", between, R"() : f32[9000,800]
    %q2 = cumsum(%q, axis=0) : f32[9000,800]
    %sum = add(%p, %q2) : f32[9000,800]
    %w2 = sub(w, %sum) : f32[9000,800]
    next w = %w2
    return %q })");
  const std::string groups = after("group", text.c_str());
  const std::size_t from = groups.find("  %p = "), to = groups.find("\ngroup", from);
  return groups.substr(from, to - from);
}

TEST(Stages, AProductDoesNotKeepLargeOperandsForALateEpilogue) {
  EXPECT_EQ(group_of_shared_weight(10), "  %p = matmul\n  %sum = add\n  %w2 = sub, stored\n");
  EXPECT_EQ(group_of_shared_weight(70), "  %p = matmul, stored");
}

TEST(Stages, ChooseMakesAStepOfEachGroup) {
  EXPECT_EQ(after("choose", kStep), R"(
step 0 loop.product.3eaa0dda linear  (x, w, b) -> (%r)
step 1 loop.row.d01f46bc row  (%r, t) -> (%d)
step 2 loop.product.40b39a41 matmul  (%d, x, w) -> (%w2)
)");
}

/// Groups of one signature are the same kernel over other values.
TEST(Stages, ChooseLowersWhatRepeatsOnce) {
  const std::string steps = after("choose", R"(
graph g(x: f32[300,200]) state(v: f32[200,200], w: f32[200,200]) {
  %a = matmul(x, v) : f32[300,200]
  %b = tanh(%a) : f32[300,200]
  %c = matmul(%b, w) : f32[300,200]
  %d = tanh(%c) : f32[300,200]
  return %d
})");
  EXPECT_EQ(steps, R"(
step 0 null.product matmul  (x, v) -> (%b)
step 1 null.product matmul  (%b, w) -> (%d)
)");
}

TEST(Stages, JoinRunsIndependentUpdatesTogether) {
  constexpr const char* kUpdates = R"(
graph g(x: f32[600,700], y: f32[600,700]) state(v: f32[600,700], w: f32[600,700]) {
  %v2 = sub(v, x) : f32[600,700]
  %w2 = sub(w, y) : f32[600,700]
  next v = %v2
  next w = %w2
})";
  EXPECT_EQ(after("batch", kUpdates), R"(
step 0 loop.pointwise.6d7b3ba4 pointwise  (v, x) -> (%v2)
step 1 loop.pointwise.6d7b3ba4 pointwise  (w, y) -> (%w2)
)");
  EXPECT_EQ(after("join", kUpdates), R"(
step 0 loop.pointwise.6d7b3ba4 pointwise  (v, x, w, y) -> (%v2, %w2)
)");
}

/// A value is computed where it is read only through so many others: no chain is too long for the
/// stack, and none that doubles is looked at twice as often at every step.
TEST(Stages, LongChainsOfCheapValuesEndInKernels) {
  const auto chain = [](int length, const char* step, const std::string& end) {
    std::string text = "graph g(x: f32[4]) {\n  %v0 = relu(x) : f32[4]\n";
    for (int i = 1; i <= length; ++i) {
      std::string line = step;
      for (std::size_t at; (at = line.find("OLD")) != line.npos;) line.replace(at, 3, str(i - 1));
      for (std::size_t at; (at = line.find("NEW")) != line.npos;) line.replace(at, 3, str(i));
      text += line;
    }
    return text + end;
  };
  EXPECT_NE(after("group",
                  chain(9000, "  %vNEW = add(%vOLD, x) : f32[4]\n", "  return %v9000\n}").c_str()),
            "");
  EXPECT_NE(after("group", chain(6000,
                                 "  %pNEW = pad(%vOLD, low=[1], high=[0]) : f32[5]\n"
                                 "  %vNEW = slice(%pNEW, axes=[0], starts=[0], stops=[4])"
                                 " : f32[4]\n",
                                 "  return %v6000\n}")
                               .c_str()),
            "");
  EXPECT_NE(after("group", chain(60, "  %vNEW = add(%vOLD, %vOLD) : f32[4]\n",
                                 "  %y = broadcast_to(%v60, shape=[64,4]) : f32[64,4]\n"
                                 "  %z = relu(%y) : f32[64,4]\n  return %z\n}")
                               .c_str()),
            "");
}

}  // namespace
}  // namespace plait::plan
