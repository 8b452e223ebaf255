// Which input of one graph is which of another.
#include "cli/pairing.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/text.h"

namespace plait::cli {
namespace {

std::string text_of(const Pairing& pairing) {
  std::string out;
  for (const auto& [a, b] : pairing.pairs) out += str(a.name, "=", b.name, " ");
  for (const Input& i : pairing.only_first) out += str(i.name, "=? ");
  for (const Input& i : pairing.only_second) out += str("?=", i.name, " ");
  return out;
}

std::string paired(const std::string& first, const std::string& second) {
  return text_of(pair_inputs(ir::parse_graph(first), ir::parse_graph(second)));
}

TEST(Pairing, ByNameBeforeAnythingElse) {
  const std::string a = R"(graph a(x: f32[2], y: f32[2]) {
    %z = sub(x, y) : f32[2]
    return %z
  })";
  const std::string b = R"(graph b(y: f32[2], x: f32[2]) {
    %z = sub(y, x) : f32[2]
    return %z
  })";
  EXPECT_EQ(paired(a, b), "x=x y=y ");
}

TEST(Pairing, ByDepthWhereSizesAreTheSame) {
  // A block and its shortcut: the shortcut is read first in one graph and last in the other.
  const std::string a = R"(graph a(in: f32[2,4]) state(w1: f32[4,4] = ones, w2: f32[4,4] = ones,
      cut: f32[4,4] = ones) {
    %h = linear(in, w1) : f32[2,4]
    %y = linear(%h, w2) : f32[2,4]
    %s = linear(in, cut) : f32[2,4]
    %z = add(%y, %s) : f32[2,4]
    return %z
  })";
  const std::string b = R"(graph b(x: f32[2,4]) state(p: f32[4,4] = ones, q: f32[4,4] = ones,
      r: f32[4,4] = ones) {
    %h = linear(x, p) : f32[2,4]
    %s = linear(x, q) : f32[2,4]
    %y = linear(%h, r) : f32[2,4]
    %z = add(%y, %s) : f32[2,4]
    return %z
  })";
  EXPECT_EQ(paired(a, b), "in=x w1=p w2=r cut=q ");
}

TEST(Pairing, AFedWeightAndAMissingBias) {
  const std::string fed = R"(graph a(x: f32[2,4], w: f32[3,4]) {
    %y = linear(x, w) : f32[2,3]
    return %y
  })";
  const std::string kept = R"(graph b(image: f32[2,4]) state(fc.weight: f32[3,4] = ones,
      fc.bias: f32[3] = ones) {
    %y = linear(image, fc.weight, fc.bias) : f32[2,3]
    return %y
  })";
  EXPECT_EQ(paired(fed, kept), "x=image w=fc.weight ?=fc.bias ");
  EXPECT_EQ(paired(kept, fed), "image=x fc.weight=w fc.bias=? ");
}

TEST(Pairing, SizesOfOneDoNotMatter) {
  EXPECT_EQ(paired("graph a(x: f32[1,3,1,1]) { %y = neg(x) : f32[1,3,1,1] return %y }",
                   "graph b(z: f32[3], v: f32[3,3]) { %y = neg(v) : f32[3,3] %w = neg(z) : f32[3] "
                   "return %y, %w }"),
            "x=z ?=v ");
}

TEST(Pairing, IntegersAreNotFloats) {
  EXPECT_EQ(paired("graph a(i: i32[2]) { %y = neg(i) : i32[2] return %y }",
                   "graph b(x: f32[2], j: i64[2]) { %y = neg(x) : f32[2] %z = neg(j) : i64[2] "
                   "return %y, %z }"),
            "i=j ?=x ");
}

}  // namespace
}  // namespace plait::cli
