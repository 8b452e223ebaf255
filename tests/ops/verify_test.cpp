// What the verifier accepts, and each of its messages.
#include "ops/verify.h"

#include "tests/passes/text_case.h"

namespace plait::test {
namespace {

void verify_body(std::string_view body) {
  verify_types(ir::parse_graph(str("graph g(x: f32[3], i: i64[2]) {\n", body, "\n}")));
}

std::string complaint(std::string_view body) {
  return message_of<UserError>([&] { verify_body(body); });
}

TEST(Verify, AcceptsWhatTheOpsCompute) {
  EXPECT_NO_THROW(
      verify_body("%a = relu(x) : f32[3]\n%b, %c = split(%a, sizes=[1,2]) : f32[1], f32[2]"));
}

TEST(Verify, TakesOpaqueNodesAtTheirWord) {
  EXPECT_NO_THROW(verify_body("%a = opaque \"Lrn\"(x, size=5) : f32[7]"));
}

TEST(Verify, IgnoresPlaces) {
  EXPECT_NO_THROW(verify_body("%a = relu(x) : f32[3] on cpu[0,1](S(0))"));
}

TEST(Verify, StatedType) {
  EXPECT_EQ(complaint("%relu0 = relu(x) : f32[4] @ blocks.1"),
            "[relu] states f32[4], computes f32[3] (%relu0 @ blocks.1)");
  EXPECT_EQ(complaint("%relu0 = relu(x) : f16[3]"),
            "[relu] states f16[3], computes f32[3] (%relu0)");
}

TEST(Verify, StatedTypeOfOneOfSeveralResults) {
  EXPECT_EQ(complaint("%a, %b = split(x, sizes=[1,2]) : f32[1], f32[1]"),
            "[split] result 1: states f32[1], computes f32[2] (%a)");
}

TEST(Verify, NumberOfResults) {
  EXPECT_EQ(complaint("%a, %b = relu(x) : f32[3], f32[3]"),
            "[relu] states 2 results, computes 1 (%a)");
}

TEST(Verify, UnknownOp) {
  EXPECT_EQ(complaint("%a = rellu(x) : f32[3] @ 1"),
            "there is no op 'rellu' (%a @ 1). Did you mean 'relu'?");
}

TEST(Verify, NumberOfOperands) {
  EXPECT_EQ(complaint("%a = relu(x, x) : f32[3]"), "[relu] takes 1 operands, given 2 (%a)");
  EXPECT_EQ(complaint("%a = add(x) : f32[3]"), "[add] takes 2 operands, given 1 (%a)");
}

TEST(Verify, Attributes) {
  EXPECT_EQ(complaint("%a = sum(x, axis=[0]) : f32[]"),
            "[sum] has no attribute 'axis'. Did you mean 'axes'? (%a)");
  EXPECT_EQ(complaint("%a = sum(x, axes=\"all\") : f32[]"),
            "[sum] attribute axes cannot be \"all\" (%a)");
}

TEST(Verify, Operands) {
  EXPECT_EQ(complaint("%a = add(x, i) : f32[3] @ fc"),
            "[add] operand dtypes differ: a is f32[3], b is i64[2] (%a @ fc). Cast one of them");
}

TEST(Verify, Structure) {
  ir::Graph graph = ir::parse_graph("graph g(x: f32[3]) { %a = relu(x) : f32[3] return %a }");
  graph.nodes[0].inputs[0] = 1;
  EXPECT_EQ(message_of<UserError>([&] { verify_types(graph); }),
            "graph g: node %a: operand 0 is %a, which is made later. "
            "Nodes stand in execution order");
}

}  // namespace
}  // namespace plait::test
