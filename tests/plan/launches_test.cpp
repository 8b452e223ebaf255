// Launches of a GPU's steps, planned without a device: pieces of a concat and slices of a value are
// calls of few functions, and calls of one function in a step are one launch.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "backends/cuda/target.h"
#include "base/text.h"
#include "ops/ops.h"
#include "passes/differentiate.h"
#include "run/compile.h"

namespace plait::plan {
namespace {

struct Launches {
  int steps = 0, launches = 0;
  std::size_t functions = 0;
  std::int64_t blocks = 0;
};

/// Of the steps whose first node is of this kind.
Launches launches_of(const ir::Graph& graph, const std::string& kind) {
  const auto target = cuda::make_cuda_target(nullptr, nullptr, {.without = "there is no GPU"});
  const program::Program p = compile(graph, *target, {.plan = {}, .use_cache = false}).program;
  Launches out;
  std::set<std::string> functions;
  for (const program::Step& step : p.steps) {
    if (step.kind != kind) continue;
    ++out.steps;
    std::map<std::string, int> launches;
    for (const program::Call& call : step.calls) {
      const auto& loop = std::get<program::LoopCall>(call);
      int& n = launches[loop.function.name];
      n = loop.function.many ? 1 : n + 1;
      out.blocks += loop.rows.value();
      functions.insert(loop.function.name);
    }
    for (const auto& [name, n] : launches) out.launches += n;
  }
  out.functions = functions.size();
  return out;
}

/// Pieces [outer, size + i % more, inner], along the middle axis.
ir::Graph concat(std::int64_t pieces, std::int64_t outer, std::int64_t size, std::int64_t inner,
                 DType dtype = DType::f32, std::int64_t more = 1) {
  Builder b("concat");
  std::vector<Operand> all;
  for (std::int64_t i = 0; i < pieces; ++i) {
    all.push_back(b.feed(str("x", i), dtype, {outer, size + i % more, inner}));
  }
  b.fetch("y", ops::concat.all(all, ops::Axis{1})[0]);
  return b.take();
}

TEST(Launches, DoNotGrowWithTheEqualPiecesOfAConcat) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64}) {
    for (const std::int64_t outer : {1, 64}) {
      SCOPED_TRACE(str(name_of(dtype), ", outer ", outer));
      std::vector<std::int64_t> blocks;
      for (const std::int64_t pieces : {8, 32, 128, 512}) {
        const std::int64_t size = (std::int64_t(1) << 22) / outer / pieces;
        const Launches l = launches_of(concat(pieces, outer, size, 1, dtype), "concat");
        EXPECT_EQ(l.steps, 1);
        EXPECT_EQ(l.launches, 1) << pieces << " pieces";
        blocks.push_back(l.blocks);
      }
      // As much to each block, however small a piece is.
      for (const std::int64_t b : blocks) EXPECT_EQ(b, blocks[0]);
    }
  }
}

TEST(Launches, OfAConcatThatIsComputedWithKeepTheirVectors) {
  const auto blocks = [](std::int64_t pieces) {
    Builder b("act");
    std::vector<Operand> all;
    for (std::int64_t i = 0; i < pieces; ++i) {
      all.push_back(b.feed(str("x", i), DType::f32, {64, 65536 / pieces}));
    }
    b.fetch("y", ops::gelu(ops::concat.all(all, ops::Axis{1})[0]));
    const Launches l = launches_of(b.take(), "concat");
    EXPECT_LE(l.launches, 2);
    return l.blocks;
  };
  EXPECT_EQ(blocks(512), blocks(8));
}

TEST(Launches, OfUnequalPiecesAreFew) {
  for (const std::int64_t outer : {1, 64}) {
    const auto launches = [&](std::int64_t pieces, std::int64_t more) {
      return launches_of(concat(pieces, outer, 64, 1, DType::f32, more), "concat").launches;
    };
    EXPECT_LE(launches(512, 7), 5) << outer;
    EXPECT_LE(launches(512, 512), 5) << outer;
  }
  EXPECT_LE(launches_of(concat(512, 64, 8, 8, DType::f32, 7), "concat").launches, 1);
}

TEST(Launches, OfAnUnrolledLoopsOutputsAreOne) {
  EXPECT_EQ(launches_of(concat(128, 16, 1, 64), "concat").launches, 1);
}

/// What flows back to pieces of 2^21 elements in all: a slice of the value's gradient for each.
Launches of_gradient(std::int64_t pieces, std::int64_t outer, std::int64_t more) {
  Builder b("gradient");
  std::vector<Operand> all;
  for (std::int64_t i = 0; i < pieces; ++i) {
    all.push_back(b.state({str("x", i),
                           {DType::f32, {outer, (1 << 21) / outer / pieces + i % more}},
                           ir::Role::kParam,
                           {}}));
  }
  b.fetch("loss", ops::concat.all(all, ops::Axis{1})[0].square().sum());
  return launches_of(differentiate(b.take()), "pointwise");
}

/// A step has 256 calls at most, and the first slice begins at no offset.
TEST(Launches, OfTheGradientOfAConcatAreFew) {
  for (const std::int64_t outer : {1, 64}) {
    SCOPED_TRACE(outer);
    const Launches l = of_gradient(512, outer, 1);
    EXPECT_EQ(l.steps, 2);
    EXPECT_LE(l.launches, 4);
    EXPECT_LE(l.functions, 3u);
    EXPECT_LE(l.blocks, of_gradient(8, outer, 1).blocks * 2);
    EXPECT_LE(of_gradient(512, outer, 7).launches, 7);
  }
}

}  // namespace
}  // namespace plait::plan
