// Small graphs at the corners of grouping, placing and printing: each on one thread and on three,
// fused and apart, against its definition.
#include <algorithm>
#include <iterator>

#include "ir/text.h"
#include "run/compile.h"
#include "tests/compiled/compiled_case.h"
#include "tests/compiled/noise.h"

namespace plait::test {
namespace {

struct Corner {
  const char* name;
  const char* text;
};

constexpr Corner kCorners[] = {
    {"AnEpilogueOfNoRows", R"(graph g(x: f32[0,3], w: f32[2,3], b: f32[2]) {
  %y = linear(x, w, b)    : f32[0,2]
  return %y
})"},
    {"PaddedWithWhatIsNoHalf", R"(graph g(x: bf16[3,5], y: f16[3,5]) {
  %p = pad(x, low=[1,0], high=[0,2], value=0.1) : bf16[4,7]
  %q = add(%p, %p)        : bf16[4,7]
  %r = pad(y, low=[0,1], high=[1,0], value=0.3) : f16[4,6]
  return %p, %q, %r
})"},
    {"SumsOfNoTerms", R"(graph g(x: f32[4,0], w: f32[2,0], b: f32[2]) {
  %y = linear(x, w, b)    : f32[4,2]
  %s = sum(x, axes=[1])   : f32[4]
  return %y, %s
})"},
    {"ColumnsOfNoElements", R"(graph g(x: i64[2,0], y: f64[3,0], k: f64[5]) {
  %m = min(x, axes=[0])   : i64[0]
  %s = sum(y, axes=[0])   : f64[0]
  %n = neg(k)             : f64[5]
  return %m, %s, %n
})"},
    {"StatesExchanged", R"(graph g() state(a: f32[3], b: f32[3]) {
  next a = b
  next b = a
})"},
    {"StatesThatWaitForEachOther", R"(graph g() state(a: f32[], b: f32[]) {
  %e = exp(b)             : f32[]
  %n = neg(a)             : f32[]
  next a = %e
  next b = %n
})"},
    {"AStateFetchedAndAdvanced", R"(graph g() state(w: f32[4]) {
  %m = mean(w)            : f32[]
  %n = add(w, %m)         : f32[4]
  next w = %n
  return w, %m, again = w
})"},
    {"ReducedBesideItsOwnUpdate", R"(graph g() state(w: f32[]) {
  %two = constant(value=f32[]{2.0}) : f32[]
  %n = mul(w, %two)       : f32[]
  %m = mean(w, keep=true) : f32[]
  next w = %n
  return %m
})"},
    {"UpdatedInAKernelThatRepeatsIt", R"(graph g(x: f32[3,2,5]) state(w: f32[5]) {
  %s = sigmoid(w)         : f32[5]
  %y = sub(%s, x)         : f32[3,2,5]
  next w = %s
  return %y
})"},
    {"UpdatedInAKernelThatWalksItLast", R"(graph g(x: f16[3,2,2]) state(w: f16[2,1]) {
  %s = gelu(w)            : f16[2,1]
  %y = sub(%s, x)         : f16[3,2,2]
  next w = %s
  return %y
})"},
    {"AFetchedFeedIsNotTakenOver", R"(graph g(x: i8[4,2], c: bool[2], y: i8[2]) {
  %w = where(c, x, y)     : i8[4,2]
  return x, %w
})"},
    {"APointThatAContractionReadsMoved", R"(graph g(x: f64[3], y: f64[1]) {
  %m = maximum(y, x)      : f64[3]
  %b = broadcast_to(%m, shape=[4,1,3]) : f64[4,1,3]
  %p = matmul(%b, %b, transpose_a=true) : f64[4,3,3]
  %e = exp(%p)            : f64[4,3,3]
  return %e
})"},
    {"ColumnsThatAreAllTheSame", R"(graph g(x: f16[1], c: bool[1,1,3]) {
  %i = iota(axis=0, dtype=f16, shape=[2,4,1]) : f16[2,4,1]
  %d = sub(x, %i)         : f16[2,4,1]
  %m = mean(%d, axes=[0]) : f16[4,1]
  %f = cast(c, dtype=f64) : f64[1,1,3]
  %o = mean(%f, axes=[0]) : f64[1,3]
  return %m, %o
})"},
    {"NegativeZeroOfAnInteger", R"(graph g(x: f64[8], y: f32[8]) {
  %i = cast(x, dtype=i32) : i32[8]
  %d = cast(%i, dtype=f64) : f64[8]
  %j = cast(y, dtype=i64) : i64[8]
  %f = cast(%j, dtype=f32) : f32[8]
  return %d, %f
})"},
    {"MasksOfFewColumns", R"(graph g(x: f32[37,24], b: f32[24], y: bf16[37,40], c: bf16[40],
    z: f32[11,100], d: f32[100]) {
  %p = add(x, b)          : f32[37,24]
  %m = greater(%p, b)     : bool[37,24]
  %q = add(y, c)          : bf16[37,40]
  %n = greater(%q, c)     : bool[37,40]
  %r = add(z, d)          : f32[11,100]
  %o = greater(%r, d)     : bool[11,100]
  %s = sum(%r, axes=[0])  : f32[100]
  return %p, %m, %q, %n, %r, %o, %s
})"},
    {"HeadsSideBySide", R"(graph g(x: f32[2,3,5,16], y: f32[2,3,5,16], w: f32[48]) {
  %t = transpose(x, order=[0,2,1,3]) : f32[2,5,3,16]
  %p = reshape(%t, shape=[10,48]) : f32[10,48]
  %q = add(%p, w)         : f32[10,48]
  %u = transpose(y, order=[0,2,1,3]) : f32[2,5,3,16]
  %v = reshape(%u, shape=[2,5,48]) : f32[2,5,48]
  %z = reshape(%t, shape=[2,5,48]) : f32[2,5,48]
  %c = concat(%z, %v, axis=2) : f32[2,5,96]
  %s = sum(%c, axes=[0,1]) : f32[96]
  %m = max(%p, axes=[1])  : f32[10]
  return %q, %c, %s, %m
})"},
    {"ProductsOfOneShape", R"(graph g(x: bf16[48,40], y: bf16[48,40]) state(
    k: bf16[24,40], v: bf16[24,40], r: bf16[24,40]) {
  %a = linear(x, k)       : bf16[48,24]
  %d = matmul(%a, x, transpose_a=true) : bf16[24,40]
  %n = sub(k, %d)         : bf16[24,40]
  %b = linear(y, v)       : bf16[48,24]
  %c = linear(y, r)       : bf16[48,24]
  %s = cumsum(%c, axis=0) : bf16[48,24]
  next k = %n
  return %a, %b, %s
})"},
    {"StoredTwiceThroughAMove", R"(graph g(x: f32[2,3]) state(w: f32[3,2]) {
  %t = transpose(x, order=[1,0]) : f32[3,2]
  %n = add(w, %t)         : f32[3,2]
  %u = transpose(%n, order=[1,0]) : f32[2,3]
  next w = %n
  return %t, %u, x
})"},
};

std::ostream& operator<<(std::ostream& out, const Corner& corner) { return out << corner.name; }

class Corners : public CompiledCase, public testing::WithParamInterface<Corner> {};

TEST_P(Corners, AgreeWithTheirDefinition) {
  const ir::Graph graph = ir::parse_graph(GetParam().text);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const NamedArrays inputs = random_inputs(graph, seed, seed == 2);
    const Expected expected = expected_of(graph, inputs, 3);
    Arrays feeds, states;
    for (ir::ValueId id : graph.feeds) {
      feeds[graph.value(id).name] = inputs.at(graph.value(id).name);
    }
    for (const ir::StateUse& use : graph.states) {
      states[use.state.name] = inputs.at(use.state.name);
    }
    for (bool fuse : {true, false}) {
      if (!fuse && tested() == Tested::kEmulated) continue;
      CompileRequest request;
      request.plan.fuse = fuse;
      const Arrays one = run_compiled(graph, feeds, states, 1, request);
      EXPECT_EQ(agreement(expected, one).first, "") << (fuse ? "fused" : "apart");
      if (!may_differ()) continue;
      EXPECT_EQ(differing_bits(one, run_compiled(graph, feeds, states, 3, request)), "");
    }
  }
}

TEST_F(CompiledCase, ProductsOfOneShapeAreOneLaunchOfADevice) {
  if (tested() == Tested::kCpu) GTEST_SKIP() << "a call costs nothing there";
  const auto is_it = [](const Corner& c) { return std::string(c.name) == "ProductsOfOneShape"; };
  const Corner* const corner = std::find_if(std::begin(kCorners), std::end(kCorners), is_it);
  ASSERT_NE(corner, std::end(kCorners));
  const auto target = target_under_test();
  const program::Program program = compile(ir::parse_graph(corner->text), *target).program;
  ASSERT_FALSE(program.single_kernel);
  std::vector<std::size_t> calls;
  for (const program::Step& s : program.steps) {
    if (s.kind == "linear") calls.push_back(s.calls.size());
  }
  EXPECT_EQ(calls, std::vector<std::size_t>{3});
}

/// Indices above 2^24 are not all floats: the last of the first piece, and neighbours of an id.
TEST_F(CompiledCase, IndicesThatAreNoFloats) {
  const ir::Graph graph = ir::parse_graph(R"(graph g(x: f16[16777217], y: f16[3], t: i64[2]) {
  %c = concat(x, y, axis=0)     : f16[16777220]
  %s = slice(%c, axes=[0], starts=[16777214], stops=[16777220]) : f16[6]
  %o = one_hot(t, depth=16777221) : f32[2,16777221]
  %h = slice(%o, axes=[1], starts=[16777215], stops=[16777221]) : f32[2,6]
  return %s, %h
})");
  Array x(DType::f16, {16777217});
  for (std::int64_t i = 16777214; i < x.count(); ++i) x.set(i, static_cast<double>(i - 16777213));
  const Arrays got = run_compiled(graph, {{"x", x},
                                          {"y", Array::of(DType::f16, {3}, {4, 5, 6})},
                                          {"t", Array::of(DType::i64, {2}, {16777217, 16777220})}});
  EXPECT_TRUE(got.at("s").same_bits(Array::of(DType::f16, {6}, {1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(
      got.at("h").same_bits(Array::of(DType::f32, {2, 6}, {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1})));
}

INSTANTIATE_TEST_SUITE_P(Graphs, Corners, testing::ValuesIn(kCorners),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace plait::test
