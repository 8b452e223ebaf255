// Merging nodes that compute the same.
#include "passes/cse.h"

#include "text_case.h"

namespace plait::test {
namespace {

TEST(Cse, MergesForwards) {
  expect_pass(merge_common, R"(
    graph g(x: f32[3]) {
      %a = relu(x)    : f32[3] @ 0
      %b = relu(x)    : f32[3] @ 1
      %c = neg(%a)    : f32[3]
      %d = neg(%b)    : f32[3]
      return c = %c, d = %d
    })",
              R"(
    graph g(x: f32[3]) {
      %a = relu(x)    : f32[3] @ 0
      %c = neg(%a)    : f32[3]
      return c = %c, d = %c
    })",
              "%b @ 1: merged: the same as %a @ 0\n%d: merged: the same as %c\n");
}

TEST(Cse, MergesEveryResult) {
  expect_pass(merge_common, R"(
    graph g(x: f32[3]) {
      %a, %b = split(x, sizes=[1,2]) : f32[1], f32[2]
      %c, %d = split(x, sizes=[1,2]) : f32[1], f32[2]
      return %a, %d
    })",
              R"(
    graph g(x: f32[3]) {
      %a, %b = split(x, sizes=[1,2]) : f32[1], f32[2]
      return %a, d = %b
    })",
              "%c: merged: the same as %a\n");
}

TEST(Cse, MergesEqualConstantsAndNoOthers) {
  expect_pass(merge_common, R"(
    graph g() {
      %a = constant(value=f32[2]{1.0,2.0})  : f32[2]
      %b = constant(value=f32[2]{1.0,2.0})  : f32[2]
      %c = constant(value=f32[2]{1.0,3.0})  : f32[2]
      %p = constant(value=f32[]{0.0})       : f32[]
      %n = constant(value=f32[]{-0.0})      : f32[]
      return %a, %b, %c, %p, %n
    })",
              R"(
    graph g() {
      %a = constant(value=f32[2]{1.0,2.0})  : f32[2]
      %c = constant(value=f32[2]{1.0,3.0})  : f32[2]
      %p = constant(value=f32[]{0.0})       : f32[]
      %n = constant(value=f32[]{-0.0})      : f32[]
      return %a, b = %a, %c, %p, %n
    })",
              "%b: merged: the same as %a\n");
}

TEST(Cse, RandomNodesAreTheSameWithOneKeyAndStream) {
  expect_pass(merge_common, R"(
    graph g() state(rng: i64[2] as counter) {
      %a = uniform(rng, shape=[3], stream=1) : f32[3]
      %b = uniform(rng, shape=[3], stream=2) : f32[3]
      %c = uniform(rng, shape=[3], stream=1) : f32[3]
      return %a, %b, %c
    })",
              R"(
    graph g() state(rng: i64[2] as counter) {
      %a = uniform(rng, shape=[3], stream=1) : f32[3]
      %b = uniform(rng, shape=[3], stream=2) : f32[3]
      return %a, %b, c = %a
    })",
              "%c: merged: the same as %a\n");
}

TEST(Cse, LeavesWhatDiffers) {
  const char* text = R"(
    graph g(x: f32[2,2], y: f32[2,2]) {
      %a = sub(x, y)                                 : f32[2,2]
      %b = sub(y, x)                                 : f32[2,2]
      %c = sum(x, axes=[0])                          : f32[2]
      %d = sum(x, axes=[1])                          : f32[2]
      %e = pad(x, high=[0,1], low=[0,0])             : f32[2,3]
      %f = pad(x, high=[0,1], low=[0,0], value=-0.0) : f32[2,3]
      %g = opaque "Lrn"(x)                           : f32[2]
      %h = opaque "Lrn"(x)                           : f32[2]
      %i = relu(x)                                   : f32[2,2] on cpu[0,1](S(0))
      %j = relu(x)                                   : f32[2,2] on cpu[0,1](B)
      return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j
    })";
  expect_pass(merge_common, text, text, "");
}

}  // namespace
}  // namespace plait::test
