// Folding constants: what is folded, what is kept and why.
#include "passes/fold.h"

#include "ops/builder.h"
#include "ops/contract.h"
#include "text_case.h"

namespace plait::test {
namespace {

TEST(Fold, ChainsOfConstants) {
  expect_pass(fold_constants, R"(
    graph g(x: f32[2]) {
      %a = constant(value=f32[2]{1.0,2.0}) : f32[2]
      %b = neg(%a)                         : f32[2] @ m (m.cpp:3)
      %c = add(%b, %a)                     : f32[2]
      %d = mul(%c, x)                      : f32[2]
      return %d
    })",
              R"(
    graph g(x: f32[2]) {
      %a = constant(value=f32[2]{1.0,2.0})   : f32[2]
      %b = constant(value=f32[2]{-1.0,-2.0}) : f32[2] @ m (m.cpp:3)
      %c = constant(value=f32[2]{0.0,0.0})   : f32[2]
      %d = mul(%c, x)                        : f32[2]
      return %d
    })",
              "%b @ m (m.cpp:3): folded: neg(%a) depends on constants alone\n"
              "%c: folded: add(%b, %a) depends on constants alone\n");
}

TEST(Fold, EveryResult) {
  expect_pass(fold_constants, R"(
    graph g() {
      %a = constant(value=i64[3]{1,2,3})    : i64[3]
      %b, %c = split(%a, sizes=[1,2])       : i64[1], i64[2]
      return %b, %c
    })",
              R"(
    graph g() {
      %a = constant(value=i64[3]{1,2,3})    : i64[3]
      %b = constant(value=i64[1]{1})        : i64[1]
      %c = constant(value=i64[2]{2,3})      : i64[2]
      return %b, %c
    })",
              "%b: folded: split(%a, sizes=[1,2]) depends on constants alone\n");
}

// A view costs nothing as it stands, but what reads it is known.
TEST(Fold, ThroughViewsThatGrow) {
  expect_pass(fold_constants, R"(
    graph g() {
      %a = constant(value=f32[]{2.0})       : f32[]
      %b = broadcast_to(%a, shape=[4])      : f32[4]
      %c = sum(%b)                          : f32[]
      return %b, %c
    })",
              R"(
    graph g() {
      %a = constant(value=f32[]{2.0})       : f32[]
      %b = broadcast_to(%a, shape=[4])      : f32[4]
      %c = constant(value=f32[]{8.0})       : f32[]
      return %b, %c
    })",
              "%b: kept: it takes 4 bytes as it stands, 16 written out\n"
              "%c: folded: sum(%b) depends on constants alone\n");
}

TEST(Fold, CountsStay) {
  expect_pass(fold_constants, R"(
    graph g() {
      %a = iota(shape=[3])                  : i64[3]
      %b = neg(%a)                          : i64[3]
      return %b
    })",
              R"(
    graph g() {
      %a = iota(shape=[3])                  : i64[3]
      %b = constant(value=i64[3]{0,-1,-2})  : i64[3]
      return %b
    })",
              "%a: kept: it takes 0 bytes as it stands, 24 written out\n"
              "%b: folded: neg(%a) depends on constants alone\n");
}

TEST(Fold, NothingThatGrowsTheGraph) {
  const char* text = R"(
    graph g() {
      %a = constant(value=f32[1,1]{1.0})    : f32[1,1]
      %p = pad(%a, high=[19,19], low=[0,0]) : f32[20,20]
      %q = neg(%p)                          : f32[20,20]
      return %q
    })";
  expect_pass(fold_constants, text, text,
              "%p: kept: it takes 1,600 bytes written out, its operands 4\n");
}

TEST(Fold, NotBeyondAThousandBytesButBelowItsOperands) {
  DecisionLog log;
  const ir::Graph graph = fold_constants(ir::parse_graph(R"(
    graph g() {
      %a = iota(dtype=f32, shape=[16,16])     : f32[16,16]
      %b = neg(%a)                            : f32[16,16]
      %c = concat(%b, %b)                     : f32[16,32]
      %d = neg(%c)                            : f32[16,32]
      return %d
    })"),
                                         log);
  EXPECT_EQ(graph.nodes[1].op, "constant");
  EXPECT_EQ(graph.nodes[2].op, "constant");  // as large as its operands together
  EXPECT_EQ(graph.nodes[3].op, "constant");
}

TEST(Fold, KeepsSymbolicRandomAndOpaque) {
  const char* text = R"(
    symbol n = 1..8
    graph g() {
      %a = constant(value=f32[]{2.0})       : f32[]
      %b = broadcast_to(%a, shape=[n])      : f32[n]
      %c = sum(%b)                          : f32[]
      %k = constant(value=i64[2]{1,2})      : i64[2]
      %d = uniform(%k, shape=[2])           : f32[2]
      %e = opaque "Lrn"(%a)                 : f32[]
      return %c, %d, %e
    })";
  expect_pass(fold_constants, text, text, "%b: kept: its type f32[n] is symbolic\n");
}

TEST(Fold, LeavesErrorsToTheRun) {
  const char* text = R"(
    graph g() {
      %a = constant(value=i64[]{1})  : i64[]
      %b = constant(value=i64[]{0})  : i64[]
      %c = floor_div(%a, %b)         : i64[]
      return %c
    })";
  expect_pass(fold_constants, text, text, "%c: kept: [floor_div] integer division by zero (%c)\n");
}

TEST(Fold, LeavesHeavyWorkToTheRun) {
  Builder b("g");
  const Tensor a = b.constant(Array(DType::f32, {256, 256}));
  b.fetch("y", ops::matmul(a, a));
  DecisionLog log;
  const ir::Graph graph = fold_constants(b.take(), log);
  EXPECT_EQ(graph.nodes[1].op, "matmul");
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].why, "33,554,432 operations are left to the run");
}

}  // namespace
}  // namespace plait::test
