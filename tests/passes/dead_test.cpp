// Removing what nothing reads.
#include "text_case.h"

namespace plait::test {
namespace {

TEST(Dead, DropsWhatNothingReads) {
  expect_pass(remove_dead, R"(
    graph g(x: f32[3], unused: f32[2]) state(w: f32[3], idle: f32[1]) {
      %a = relu(x)      : f32[3]
      %b = neg(%a)      : f32[3]
      %c = exp(%b)      : f32[3] @ tail
      %d = add(%a, w)   : f32[3] @ body (m.cpp:4)
      return y = %d
    })",
              R"(
    graph g(x: f32[3], unused: f32[2]) state(w: f32[3], idle: f32[1]) {
      %a = relu(x)      : f32[3]
      %d = add(%a, w)   : f32[3] @ body (m.cpp:4)
      return y = %d
    })",
              "%b: removed: nothing reads it\n%c @ tail: removed: nothing reads it\n");
}

TEST(Dead, KeepsWhatANextStateNeeds) {
  const char* text = R"(
    graph g() state(w: f32[3]) {
      %a = neg(w) : f32[3]
      next w = %a
    })";
  expect_pass(remove_dead, text, text, "");
}

TEST(Dead, KeepsANodeForOneOfItsResults) {
  const char* text = R"(
    graph g(x: f32[3]) {
      %a, %b = split(x, sizes=[1,2]) : f32[1], f32[2]
      return %b
    })";
  expect_pass(remove_dead, text, text, "");
}

TEST(Dead, DropsOpaqueNodesToo) {
  expect_pass(remove_dead, "graph g(x: f32[3]) { %a = opaque \"Lrn\"(x) : f32[3] return x }",
              "graph g(x: f32[3]) { return x }", "%a: removed: nothing reads it\n");
}

}  // namespace
}  // namespace plait::test
