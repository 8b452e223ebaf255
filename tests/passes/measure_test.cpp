// Counting on graphs small enough to count by hand.
#include "passes/measure.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/raises.h"

namespace plait {
namespace {

Measures of(const std::string& text) { return measure(ir::parse_graph(text)); }

TEST(Measure, AChainKeepsTwoValuesAtOnce) {
  const Measures m = of(R"(graph g(x: f32[4]) {
    %a = neg(x) : f32[4]
    %b = neg(%a) : f32[4]
    %c = neg(%b) : f32[4]
    return %c
  })");
  EXPECT_EQ(m.live_peak_bytes, 2 * 16);  // at b: a and b; at c: b and c
  EXPECT_EQ(m.operations, 3 * 4);
  EXPECT_EQ(m.bytes, 3 * 32);
  EXPECT_EQ(m.by_op.at("neg").count, 3);
  EXPECT_EQ(m.by_op.at("neg").operations, 12);
  EXPECT_EQ(m.by_op.at("neg").bytes, 96);
  EXPECT_EQ(m.parameters, 0);
}

TEST(Measure, AContractionCountsTwoPerProduct) {
  const Measures m = of(R"(graph g(a: f32[4,8], b: f16[2]) state(w: f32[8,2]) {
    %y = matmul(a, w) : f32[4,2]
    return %y
  })");
  EXPECT_EQ(m.operations, 2 * 4 * 2 * 8);
  EXPECT_EQ(m.bytes, (32 + 16 + 8) * 4);
  EXPECT_EQ(m.live_peak_bytes, 8 * 4);
  EXPECT_EQ(m.parameters, 16);
}

TEST(Measure, AnOperandReadTwiceByANodeCountsOnce) {
  const Measures m = of(R"(graph g(x: f32[5]) {
    %y = mul(x, x) : f32[5]
    return %y
  })");
  EXPECT_EQ(m.bytes, 2 * 20);
  EXPECT_EQ(m.operations, 5);
}

TEST(Measure, AViewOwnsNothingAndKeepsItsSource) {
  const Measures m = of(R"(graph g(x: f32[2,4]) {
    %a = neg(x) : f32[2,4]
    %r = reshape(%a, shape=[8]) : f32[8]
    %t = reshape(%r, shape=[4,2]) : f32[4,2]
    %s = sum(x) : f32[]
    %b = neg(%t) : f32[4,2]
    return %b, %s
  })");
  // At b: a through its views 32, s 4, b 32.
  EXPECT_EQ(m.live_peak_bytes, 68);
  EXPECT_EQ(m.by_op.at("reshape").operations, 0);
}

TEST(Measure, AViewOfAFeedStateOrConstantIsFree) {
  const Measures m = of(R"(graph g(x: f32[4]) state(w: f32[4]) {
    %c = constant(value=f32[4]{1.0,2.0,3.0,4.0}) : f32[4]
    %rx = reshape(x, shape=[2,2]) : f32[2,2]
    %rw = reshape(w, shape=[2,2]) : f32[2,2]
    %rc = reshape(%c, shape=[2,2]) : f32[2,2]
    %y = add(%rx, %rw) : f32[2,2]
    next w = w
    return %y, %rc
  })");
  EXPECT_EQ(m.live_peak_bytes, 16);  // y alone
  EXPECT_EQ(m.by_op.at("constant").operations, 0);
}

TEST(Measure, FetchesAndNextValuesLiveToTheEnd) {
  const Measures m = of(R"(graph g(x: f32[4]) state(w: f32[4]) {
    %a = neg(x) : f32[4]
    %n = add(w, %a) : f32[4]
    %b = neg(x) : f32[4]
    %c = neg(%b) : f32[4]
    next w = %n
    return %a, %c
  })");
  EXPECT_EQ(m.live_peak_bytes, 4 * 16);  // a, n, b and c at the last node
}

TEST(Measure, ADeadResultDiesAfterItsNode) {
  const Measures m = of(R"(graph g(x: f32[4]) {
    %unused = neg(x) : f32[4]
    %y = opaque "Pair"(x) : f32[4]
    %a, %b = opaque "Split"(%y) : f32[2], f32[8]
    %z = neg(%a) : f32[2]
    return %z
  })");
  // At Split: y 16, a 8, b 32; `unused` is gone, and b is gone before z.
  EXPECT_EQ(m.live_peak_bytes, 56);
}

TEST(Measure, OpaqueNodesHaveBytesAndNoOperations) {
  const Measures m = of(R"(graph g(x: f16[4]) {
    %y = opaque "LocalResponseNorm"(x, size=5) : f16[4]
    return %y
  })");
  EXPECT_EQ(m.by_op.at("LocalResponseNorm").count, 1);
  EXPECT_EQ(m.operations, 0);
  EXPECT_EQ(m.bytes, 16);
}

TEST(Measure, OnlyTrainedStatesAreParameters) {
  const Measures m = of(R"(graph g() state(w: f32[3,5], m: f32[3,5] as slot,
                                           r: f32[7] as buffer, n: i64[] as counter) {
    return w
  })");
  EXPECT_EQ(m.parameters, 15);
  EXPECT_EQ(m.live_peak_bytes, 0);
  EXPECT_EQ(m.bytes, 0);
  EXPECT_TRUE(m.by_op.empty());
}

TEST(Measure, ACompositeCountsAsItsDecomposition) {
  const auto operations = [](const std::string& op) {
    return of("graph g(x: f32[2,8]) {\n %y = " + op + "(x) : f32[2,8]\n return %y\n}").operations;
  };
  // Maximum, difference, exponential, sum, quotient: five passes over the elements at least.
  EXPECT_GE(operations("softmax"), 5 * 16);
}

TEST(Measure, SizesMustBeNumbers) {
  const std::string said = test::message_of<UserError>(
      [] { of("symbol n = 1..8\ngraph g(x: f32[n]) {\n %y = neg(x) : f32[n]\n return %y\n}"); });
  EXPECT_NE(said.find("n"), std::string::npos);
}

}  // namespace
}  // namespace plait
