// Where the path of a gradient ends: the node that is named, and why.
#include "passes/gradient_path.h"

#include "passes/differentiate.h"
#include "tests/passes/text_case.h"

namespace plait::test {
namespace {

/// For the loss that the graph returns and all of its states, of which no gradient reaches one.
std::string ends_at(std::string_view text) {
  Builder b(ir::parse_graph(text));
  std::vector<Tensor> wrt;
  std::vector<ir::ValueId> from;
  for (const ir::StateUse& use : b.graph().states) {
    wrt.push_back(b.value(use.value));
    from.push_back(use.value);
  }
  const ir::ValueId loss = b.graph().fetches[0].value;
  const GradientFlow flow = gradient_flow(b.value(loss), b.constant(1, DType::f32), wrt);
  for (const Tensor& g : flow.grads) EXPECT_FALSE(g);
  return where_gradient_ends(b.graph(), loss, from, flow.received);
}

TEST(GradientPath, EndsAtIntegers) {
  EXPECT_EQ(ends_at(R"(
    graph g(x: f32[3,4]) state(w: f32[5,4]) {
      %y = linear(x, w)           : f32[3,5] @ head
      %best = argmax(%y)          : i64[3] @ head
      %f = cast(%best, dtype=f32) : f32[3]
      %loss = mean(%f)            : f32[]
      return %loss
    })"),
            "%best @ head: argmax makes i64 of f32, and gradients flow through floats alone");
}

TEST(GradientPath, EndsAtTheNodeNearestToTheLoss) {
  EXPECT_EQ(ends_at(R"(
    graph g() state(w: f32[3,4], v: f32[3]) {
      %i = argmax(w)             : i64[3]
      %f = cast(%i, dtype=f32)   : f32[3]
      %p = mul(%f, v)            : f32[3]
      %b = greater(%p, %f)       : bool[3]
      %c = cast(%b, dtype=f32)   : f32[3]
      %loss = sum(%c)            : f32[]
      return %loss
    })"),
            "%b: greater makes bool of f32, and gradients flow through floats alone");
}

TEST(GradientPath, EndsWhereItIsAskedToStop) {
  EXPECT_EQ(ends_at(R"(
    graph g() state(w: f32[3]) {
      %s = stop_gradient(w) : f32[3]
      %e = exp(%s)          : f32[3]
      %loss = sum(%e)       : f32[]
      return %loss
    })"),
            "%s: stop_gradient lets none through");
}

TEST(GradientPath, EndsAtStepsWithoutSlope) {
  EXPECT_EQ(ends_at(R"(
    graph g() state(w: f32[3]) {
      %e = exp(w)     : f32[3]
      %r = round(%e)  : f32[3]
      %m = mul(%r, %r): f32[3]
      %loss = sum(%m) : f32[]
      return %loss
    })"),
            "%r: round passes none on");
}

TEST(GradientPath, IsEmptyWhereTheLossIsOfSomethingElse) {
  EXPECT_EQ(ends_at(R"(
    graph g(x: f32[3]) state(w: f32[3]) {
      %e = exp(w)    : f32[3]
      %loss = sum(x) : f32[]
      return %loss, y = %e
    })"),
            "");
}

}  // namespace
}  // namespace plait::test
