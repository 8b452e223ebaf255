// Concats of few and of many pieces, and the gradients of slices: against their definition, bit for
// bit, and copied piece by piece.
#include <map>

#include "base/text.h"
#include "ir/text.h"
#include "ops/ops.h"
#include "passes/differentiate.h"
#include "passes/pipeline.h"
#include "program/program.h"
#include "tests/compiled/compiled_case.h"
#include "tests/compiled/noise.h"

namespace plait::test {
namespace {

class Joins : public CompiledCase {};
class JoinsOf : public CompiledCase, public testing::WithParamInterface<std::int64_t> {};

constexpr DType kDTypes[] = {DType::f32, DType::bf16, DType::i64, DType::boolean, DType::f64,
                             DType::u8,  DType::f16,  DType::i32, DType::i16,     DType::i8};

/// Sizes of a piece along its axis: odd, even, narrow, long and none.
std::int64_t size_of_piece(std::int64_t i) {
  constexpr std::int64_t kSizes[] = {3, 1, 0, 8, 5, 17, 2};
  return kSizes[i % 7];
}

/// Pieces of a dtype along each axis; a value of the pieces is fetched as it is and computed with.
ir::Graph joined(std::int64_t pieces, DType dtype) {
  Builder b("joined");
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<Operand> all;
    for (std::int64_t i = 0; i < pieces; ++i) {
      Shape shape{3, 4, 5};
      shape[static_cast<std::size_t>(axis)] = size_of_piece(i + axis);
      all.push_back(b.feed(str("x", axis, ".", i), dtype, shape));
    }
    const Tensor y = ops::concat.all(all, ops::Axis{axis})[0];
    b.fetch(str("y", axis), y);
    b.fetch(str("moved", axis), y.transpose({2, 0, 1}));
  }
  return b.take();
}

void expect_defined(const ir::Graph& graph, std::uint64_t seed) {
  const NamedArrays inputs = random_inputs(graph, seed, true);
  const NamedArrays right = evaluate_graph(graph, inputs);
  const Arrays feeds(inputs.begin(), inputs.end());
  const Arrays once = run_compiled(graph, feeds, {}, 1);
  // A GPU gives a NaN that it converts other bits.
  EXPECT_EQ(difference(right, NamedArrays(once.begin(), once.end())), "");
  const Arrays threaded = may_differ() ? run_compiled(graph, feeds, {}, 3) : once;
  EXPECT_EQ(differing_bits(once, threaded), "") << "on three threads";
  for (const std::string& mode : protected_modes()) {
    const Fence fence(mode);
    EXPECT_EQ(differing_bits(once, run_compiled(graph, feeds, {}, 2)), "") << mode;
  }
}

TEST_P(JoinsOf, PiecesOfEverySizeOnEveryAxis) {
  const std::int64_t pieces = GetParam();
  auto number = static_cast<std::size_t>(pieces);
  for (int i = 0; i < (pieces == 8 ? 10 : 2); ++i) {
    const DType dtype = kDTypes[number++ % std::size(kDTypes)];
    SCOPED_TRACE(str(pieces, " pieces of ", name_of(dtype)));
    expect_defined(joined(pieces, dtype), number);
  }
}

INSTANTIATE_TEST_SUITE_P(Pieces, JoinsOf, testing::Values(1, 2, 3, 5, 8, 31, 32, 64, 127, 128, 512),
                         [](const auto& info) { return str(info.param); });

/// Pieces that vectors move, of one size or of several, and slices of what they make, as they are
/// and computed with.
ir::Graph joined_and_sliced(DType dtype, std::int64_t pieces, std::int64_t more) {
  Builder b("sliced");
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<Operand> all;
    std::vector<std::int64_t> starts{0};
    for (std::int64_t i = 0; i < pieces; ++i) {
      Shape shape{4, 8, 16};
      Dim& size = shape[static_cast<std::size_t>(axis)];
      size = size + more * (i % 3);
      starts.push_back(starts.back() + size.value());
      all.push_back(b.feed(str("x", axis, ".", i), dtype, shape));
    }
    const Tensor y = ops::concat.all(all, ops::Axis{axis})[0];
    b.fetch(str("y", axis), y);
    const Tensor x = b.feed(str("z", axis), dtype, y.shape());
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      const Tensor part = x.slice(axis, starts[i], starts[i + 1]);
      b.fetch(str("part", axis, ".", i), part);
      b.fetch(str("sum", axis, ".", i), part + part);
    }
  }
  return b.take();
}

TEST_F(Joins, AndSlicesOfLongPieces) {
  std::uint64_t seed = 11;
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64}) {
    for (const std::int64_t more : {0, 1, 8}) {
      SCOPED_TRACE(str(name_of(dtype), ", ", more, " more"));
      expect_defined(joined_and_sliced(dtype, 5, more), ++seed);
    }
  }
}

/// A GPU looks for a block's call among so many in three turns.
TEST_F(Joins, OfMoreThanAThousandPieces) {
  Builder b("many");
  std::vector<Operand> all;
  for (std::int64_t i = 0; i < 1100; ++i) {
    all.push_back(b.feed(str("x", i), DType::f32, {2, 1 + i % 2}));
  }
  b.fetch("y", ops::concat.all(all, ops::Axis{1})[0]);
  expect_defined(b.take(), 12);
}

/// How the pieces are copied, with what reads them in the same kernels and with what they are made
/// of where they are read.
TEST_F(Joins, FuseWithWhatReadsThemAndWithMoves) {
  const ir::Graph graph = ir::parse_graph(R"(graph g(x: f32[6,4], y: f32[6,3], z: f32[5,6],
      u: f32[6,14], k: i64[6,2], e: f32[6,0]) {
    %t = transpose(z, order=[1,0])                 : f32[6,5]
    %f = cast(k, dtype=f32)                        : f32[6,2]
    %c = concat(x, e, y, %t, %f, axis=1)           : f32[6,14]
    %n = maximum(%c, u)                            : f32[6,14]
    %m = max(%n, axes=[0])                         : f32[14]
    %r = max(%n, axes=[1])                         : f32[6]
    %p = pad(y, low=[1,0], high=[0,2], value=3.0)  : f32[7,5]
    %s = slice(x, axes=[0], starts=[1], stops=[4]) : f32[3,4]
    %w = pad(%s, low=[0,0], high=[0,1])            : f32[3,5]
    %v = slice(z, axes=[1], starts=[0], stops=[5]) : f32[5,5]
    %b = broadcast_to(%m, shape=[2,14])            : f32[2,14]
    %q = slice(%b, axes=[1], starts=[9], stops=[14]) : f32[2,5]
    %d = concat(%p, %w, %v, %q, axis=0)            : f32[17,5]
    %a = abs(%d)                                   : f32[17,5]
    %i = iota(axis=1, dtype=f32, shape=[17,5])     : f32[17,5]
    %g = minimum(%a, %i)                           : f32[17,5]
    %h = max(%g, axes=[1])                         : f32[17]
    %o = max(%g, axes=[0])                         : f32[5]
    return %n, %m, %r, %d, %g, %h, %o
  })");
  expect_defined(graph, 3);
}

TEST_F(Joins, OfNothing) {
  expect_defined(ir::parse_graph(R"(graph g(x: f32[0,2], y: f32[0,2], z: f32[3,0], u: f32[3,0],
      v: f32[3,0], w: f32[1]) {
    %c = concat(x, y, x, y, axis=0) : f32[0,2]
    %d = concat(z, u, v, axis=1)    : f32[3,0]
    %e = concat(z, u, v, axis=0)    : f32[9,0]
    %r = reshape(%d, shape=[0])     : f32[0]
    %f = concat(%r, w, %r, %r)      : f32[1]
    return %c, %d, %e, %f
  })"),
                 4);
}

TEST_F(Joins, OfNamedSizes) {
  const ir::Graph graph = ir::parse_graph(R"(symbol n = 0..40

  graph g(x: f32[3,n], y: f32[3,2*n], z: f32[3,5], w: f32[n,3]) {
    %t = transpose(w, order=[1,0])     : f32[3,n]
    %c = concat(x, y, z, %t, x, axis=1) : f32[3,5*n+5]
    %d = concat(%t, x, x, %t, axis=0)  : f32[12,n]
    return %c, %d
  })");
  Session session = compiled_session(graph);
  for (const std::int64_t n : {0, 1, 7, 40}) {
    SCOPED_TRACE(str("n = ", n));
    const ir::Graph fixed = ir::substitute(graph, {{"n", n}});
    const NamedArrays inputs = random_inputs(fixed, 7, false);
    const NamedArrays right = evaluate_graph(fixed, inputs);
    const Arrays got = session.run({"", Arrays(inputs.begin(), inputs.end()), {}});
    EXPECT_EQ(differing_bits(Arrays(right.begin(), right.end()), got), "");
  }
}

/// An unrolled loop reads slices of one value: what flows back to it is a join, not a sum of
/// padded pieces, and slices that overlap are summed.
TEST_F(Joins, AreTheGradientsOfSlices) {
  Builder b("loop");
  constexpr std::int64_t kSteps = 20;
  const Tensor x = b.state({"x", {DType::f32, {3, kSteps + 2, 4}}, ir::Role::kParam, {}});
  Tensor h = b.feed("h", DType::f32, {3, 4}), sum = b.constant(0, DType::f32);
  for (std::int64_t t = 0; t < kSteps; ++t) {
    if (t == 7) continue;  // a gap
    h = ops::tanh(h * x.slice(1, t, t + 1).reshape({3, 4}));
    sum = sum + h.sum();
  }
  sum = sum + x.slice(1, 5, 9).square().sum() + x.slice(2, 1, 3).sum() + x.sum();
  b.fetch("loss", sum);
  const ir::Graph graph = run_pipeline(differentiate(b.take()), {}).graph;
  std::map<std::string, int> count;
  for (const ir::Node& node : graph.nodes) ++count[node.op];
  EXPECT_EQ(count["concat"], 2) << ir::print(graph);
  EXPECT_EQ(count["pad"], 1) << ir::print(graph);
  const NamedArrays inputs = random_inputs(graph, 5, false);
  const Expected expected = expected_of(graph, inputs, 6);
  const Arrays got = run_compiled(graph, {{"h", inputs.at("h")}}, {{"x", inputs.at("x")}});
  EXPECT_EQ(agreement(expected, NamedArrays(got.begin(), got.end())).first, "");
}

std::size_t texts_of(std::int64_t pieces, std::int64_t size, std::int64_t more) {
  Builder b("alike");
  std::vector<Operand> all;
  for (std::int64_t i = 0; i < pieces; ++i) {
    all.push_back(b.feed(str("x", i), DType::f32, {24, size + i * more}));
  }
  b.fetch("y", ops::concat.all(all, ops::Axis{1})[0]);
  const program::Program program = plan::make_program(b.take(), *target_under_test());
  EXPECT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(program.steps[0].calls.size(), static_cast<std::size_t>(pieces));
  return program.texts.size();
}

/// Kernels to compile do not grow with the pieces.
TEST_F(Joins, OfAlikePiecesShareTheirKernels) {
  EXPECT_LE(texts_of(16, 40, 0), 3u);
  EXPECT_LE(texts_of(512, 40, 0), 3u);
  EXPECT_LE(texts_of(512, 1, 1), 48u);
}

}  // namespace
}  // namespace plait::test
