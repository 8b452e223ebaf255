// Mixed precision: each rule of the colouring as text in, text out; casts; what is said.
#include "passes/amp.h"

#include "ops/verify.h"
#include "text_case.h"

namespace plait::test {
namespace {

/// What mixed precision makes of `before`, and that it is well-formed.
std::string mixed(std::string_view before, DType half = DType::bf16) {
  DecisionLog log;
  const ir::Graph graph = amp(ir::parse_graph(before), half, log);
  verify_types(graph);
  return ir::print(graph);
}

void expect_mixed(std::string_view before, std::string_view after, DType half = DType::bf16) {
  EXPECT_EQ(mixed(before, half), normal(after));
}

TEST(Amp, WhiteIsHalfBlackIsNotAndTypesOutsideStay) {
  expect_pass(
      [](const ir::Graph& g, DecisionLog& log) { return amp(g, DType::bf16, log); }, R"(
    graph g(x: f32[2,3]) state(w: f32[4,3]) {
      %y = linear(x, w)    : f32[2,4] @ fc (net.py:3)
      %e = exp(%y)         : f32[2,4] @ act
      next w = w
      return y = %y, e = %e
    })",
      R"(
    graph g(x: f32[2,3]) state(w: f32[4,3]) {
      %x.bf16 = cast(x, dtype=bf16)    : bf16[2,3] @ fc (net.py:3)
      %w.bf16 = cast(w, dtype=bf16)    : bf16[4,3] @ fc (net.py:3)
      %y = linear(%x.bf16, %w.bf16)    : bf16[2,4] @ fc (net.py:3)
      %y.f32 = cast(%y)                : f32[2,4] @ act
      %e = exp(%y.f32)                 : f32[2,4] @ act
      next w = w
      return y = %y.f32, e = %e
    })",
      "%y @ fc (net.py:3): bf16: is white\n"
      "%e @ act: f32: is black\n"
      "graph g: bf16: 1 of 1 white, 0 of 0 gray, 0 of 0 clear, 0 of 1 black ops; 2 casts to "
      "bf16, 1 to f32\n");
}

TEST(Amp, GrayIsHalfBetweenWhites) {
  expect_mixed(R"(
    graph g(x: f32[2,3]) state(w: f32[3,3]) {
      %before = neg(x)               : f32[2,3]
      %a = matmul(%before, w)        : f32[2,3]
      %between = tanh(%a)            : f32[2,3]
      %b = matmul(%between, w)       : f32[2,3]
      %after = neg(%b)               : f32[2,3]
      return %after
    })",
               R"(
    graph g(x: f32[2,3]) state(w: f32[3,3]) {
      %before = neg(x)                         : f32[2,3]
      %before.bf16 = cast(%before, dtype=bf16) : bf16[2,3]
      %w.bf16 = cast(w, dtype=bf16)            : bf16[3,3]
      %a = matmul(%before.bf16, %w.bf16)       : bf16[2,3]
      %between = tanh(%a)                      : bf16[2,3]
      %b = matmul(%between, %w.bf16)           : bf16[2,3]
      %b.f32 = cast(%b)                        : f32[2,3]
      %after = neg(%b.f32)                     : f32[2,3]
      return %after
    })");
}

TEST(Amp, ABlackOpEndsWhatLiesBetweenWhites) {
  expect_mixed(R"(
    graph g(x: f32[2,2]) {
      %a = matmul(x, x)     : f32[2,2]
      %n = neg(%a)          : f32[2,2]
      %e = exp(%n)          : f32[2,2]
      %m = neg(%e)          : f32[2,2]
      %s = mul(%m, %a)      : f32[2,2]
      %b = matmul(%s, %s)   : f32[2,2]
      return %b
    })",
               R"(
    graph g(x: f32[2,2]) {
      %x.bf16 = cast(x, dtype=bf16)   : bf16[2,2]
      %a = matmul(%x.bf16, %x.bf16)   : bf16[2,2]
      %a.f32 = cast(%a)               : f32[2,2]
      %n = neg(%a.f32)                : f32[2,2]
      %e = exp(%n)                    : f32[2,2]
      %m = neg(%e)                    : f32[2,2]
      %m.bf16 = cast(%m, dtype=bf16)  : bf16[2,2]
      %s = mul(%m.bf16, %a)           : bf16[2,2]
      %b = matmul(%s, %s)             : bf16[2,2]
      %b.f32 = cast(%b)               : f32[2,2]
      return b = %b.f32
    })");
}

TEST(Amp, ClearOpsJoinTheirNeighboursBothWays) {
  expect_mixed(R"(
    graph g(x: f32[6]) {
      %in = reshape(x, shape=[2,3])               : f32[2,3]
      %a = matmul(%in, %in, transpose_b=true)     : f32[2,2]
      %out = reshape(%a, shape=[4])               : f32[4]
      %e = exp(%out)                              : f32[4]
      return %e
    })",
               R"(
    graph g(x: f32[6]) {
      %x.bf16 = cast(x, dtype=bf16)               : bf16[6]
      %in = reshape(%x.bf16, shape=[2,3])         : bf16[2,3]
      %a = matmul(%in, %in, transpose_b=true)     : bf16[2,2]
      %out = reshape(%a, shape=[4])               : bf16[4]
      %out.f32 = cast(%out)                       : f32[4]
      %e = exp(%out.f32)                          : f32[4]
      return %e
    })");
}

TEST(Amp, ATableIsReadBeforeItIsNarrowed) {
  expect_mixed(R"(
    graph g(ids: i64[2]) state(table: f32[9,2]) {
      %rows = embedding(table, ids)      : f32[2,2]
      %a = matmul(%rows, %rows)          : f32[2,2]
      return %a
    })",
               R"(
    graph g(ids: i64[2]) state(table: f32[9,2]) {
      %rows = embedding(table, ids)          : f32[2,2]
      %rows.bf16 = cast(%rows, dtype=bf16)   : bf16[2,2]
      %a = matmul(%rows.bf16, %rows.bf16)    : bf16[2,2]
      %a.f32 = cast(%a)                      : f32[2,2]
      return a = %a.f32
    })");
}

TEST(Amp, AClearOpThatF32ReadsTooStaysF32) {
  expect_mixed(R"(
    graph g(x: f32[2,2]) {
      %t = transpose(x, order=[1,0])     : f32[2,2]
      %a = matmul(%t, %t)                : f32[2,2]
      %e = exp(%t)                       : f32[2,2]
      return %a, %e
    })",
               R"(
    graph g(x: f32[2,2]) {
      %t = transpose(x, order=[1,0])         : f32[2,2]
      %t.bf16 = cast(%t, dtype=bf16)         : bf16[2,2]
      %a = matmul(%t.bf16, %t.bf16)          : bf16[2,2]
      %e = exp(%t)                           : f32[2,2]
      %a.f32 = cast(%a)                      : f32[2,2]
      return a = %a.f32, %e
    })");
}

TEST(Amp, NormsTakeTheirParametersAsTheyAre) {
  expect_mixed(R"(
    graph g(x: f32[2,3,4,4]) state(w: f32[3,3,1,1], s: f32[3], o: f32[3], m: f32[3] as buffer) {
      %a = conv2d(x, w)                           : f32[2,3,4,4]
      %y, %mean, %var = batch_norm(%a, s, o)      : f32[2,3,4,4], f32[3], f32[3]
      %r = relu(%y)                               : f32[2,3,4,4]
      %b = conv2d(%r, w)                          : f32[2,3,4,4]
      next m = %mean
      return %b
    })",
               R"(
    graph g(x: f32[2,3,4,4]) state(w: f32[3,3,1,1], s: f32[3], o: f32[3], m: f32[3] as buffer) {
      %x.bf16 = cast(x, dtype=bf16)               : bf16[2,3,4,4]
      %w.bf16 = cast(w, dtype=bf16)               : bf16[3,3,1,1]
      %a = conv2d(%x.bf16, %w.bf16)               : bf16[2,3,4,4]
      %y, %mean, %var = batch_norm(%a, s, o)      : bf16[2,3,4,4], f32[3], f32[3]
      %r = relu(%y)                               : bf16[2,3,4,4]
      %b = conv2d(%r, %w.bf16)                    : bf16[2,3,4,4]
      %b.f32 = cast(%b)                           : f32[2,3,4,4]
      next m = %mean
      return b = %b.f32
    })");
}

// A norm written out: the mean is f32, what it is taken off is widened, and the result is half
// again for what follows.
TEST(Amp, StatisticsAreNotNarrowed) {
  expect_mixed(R"(
    graph g(x: f32[2,2]) {
      %a = matmul(x, x)                       : f32[2,2]
      %m = mean(%a, axes=[1], keep=true)      : f32[2,1]
      %d = sub(%a, %m)                        : f32[2,2]
      %r = add(%d, %a)                        : f32[2,2]
      %b = matmul(%r, %r)                     : f32[2,2]
      return %b
    })",
               R"(
    graph g(x: f32[2,2]) {
      %x.bf16 = cast(x, dtype=bf16)           : bf16[2,2]
      %a = matmul(%x.bf16, %x.bf16)           : bf16[2,2]
      %a.f32 = cast(%a)                       : f32[2,2]
      %m = mean(%a.f32, axes=[1], keep=true)  : f32[2,1]
      %d = sub(%a.f32, %m)                    : f32[2,2]
      %d.bf16 = cast(%d, dtype=bf16)          : bf16[2,2]
      %r = add(%d.bf16, %a)                   : bf16[2,2]
      %b = matmul(%r, %r)                     : bf16[2,2]
      %b.f32 = cast(%b)                       : f32[2,2]
      return b = %b.f32
    })");
}

TEST(Amp, ALossSubtractsItsTargetInF32) {
  expect_mixed(R"(
    graph g(x: f32[2,2], t: f32[2,2]) {
      %a = matmul(x, x)     : f32[2,2]
      %d = sub(%a, t)       : f32[2,2]
      %b = matmul(%d, %a)   : f32[2,2]
      return %b
    })",
               R"(
    graph g(x: f32[2,2], t: f32[2,2]) {
      %x.bf16 = cast(x, dtype=bf16)    : bf16[2,2]
      %a = matmul(%x.bf16, %x.bf16)    : bf16[2,2]
      %a.f32 = cast(%a)                : f32[2,2]
      %d = sub(%a.f32, t)              : f32[2,2]
      %d.bf16 = cast(%d, dtype=bf16)   : bf16[2,2]
      %b = matmul(%d.bf16, %a)         : bf16[2,2]
      %b.f32 = cast(%b)                : f32[2,2]
      return b = %b.f32
    })");
}

TEST(Amp, GradientsAreReducedBeforeTheyAreWidened) {
  expect_mixed(R"(
    graph g(x: f32[5,2]) state(b: f32[2], lr: f32[] as slot) {
      %a = matmul(x, x, transpose_a=true)          : f32[2,2]
      %s = sum(%a, axes=[0], keep=true)            : f32[1,2]
      %d = reshape(%s, shape=[2])                  : f32[2]
      %u = sgd_update(b, %d, lr)                   : f32[2]
      next b = %u
      return %u
    })",
               R"(
    graph g(x: f32[5,2]) state(b: f32[2], lr: f32[] as slot) {
      %x.bf16 = cast(x, dtype=bf16)                   : bf16[5,2]
      %a = matmul(%x.bf16, %x.bf16, transpose_a=true) : bf16[2,2]
      %s = sum(%a, axes=[0], keep=true)               : bf16[1,2]
      %d = reshape(%s, shape=[2])                     : bf16[2]
      %d.f32 = cast(%d)                               : f32[2]
      %u = sgd_update(b, %d.f32, lr)                  : f32[2]
      next b = %u
      return %u
    })");
}

TEST(Amp, AConstantThatF16CannotHoldKeepsItsReaderInF32) {
  const std::string before = R"(
    graph g(x: f32[2,2]) {
      %a = matmul(x, x)                      : f32[2,2]
      %big = constant(value=f32[]{100000.0}) : f32[]
      %half = constant(value=f32[]{0.5})     : f32[]
      %m = mul(%a, %half)                    : f32[2,2]
      %n = minimum(%m, %big)                 : f32[2,2]
      %b = matmul(%n, %m)                    : f32[2,2]
      return %b
    })";
  expect_mixed(before, R"(
    graph g(x: f32[2,2]) {
      %x.f16 = cast(x, dtype=f16)            : f16[2,2]
      %a = matmul(%x.f16, %x.f16)            : f16[2,2]
      %half = constant(value=f16[]{0.5})     : f16[]
      %m = mul(%a, %half)                    : f16[2,2]
      %m.f32 = cast(%m)                      : f32[2,2]
      %big = constant(value=f32[]{100000.0}) : f32[]
      %n = minimum(%m.f32, %big)             : f32[2,2]
      %n.f16 = cast(%n, dtype=f16)           : f16[2,2]
      %b = matmul(%n.f16, %m)                : f16[2,2]
      %b.f32 = cast(%b)                      : f32[2,2]
      return b = %b.f32
    })",
               DType::f16);
  EXPECT_NE(mixed(before).find("%n = minimum(%m, %big)                 : bf16[2,2]"),
            std::string::npos)
      << "bf16 holds it: " << mixed(before);
}

TEST(Amp, CastsThatStandThereAreNotDoubled) {
  expect_mixed(R"(
    graph g(h: bf16[2,2]) {
      %x = cast(h)                       : f32[2,2]
      %a = matmul(%x, %x)                : f32[2,2]
      %i = cast(%a, dtype=i64)           : i64[2,2]
      %w = cast(%a, dtype=f64)           : f64[2,2]
      return %i, %w
    })",
               R"(
    graph g(h: bf16[2,2]) {
      %x = cast(h)                       : f32[2,2]
      %a = matmul(h, h)                  : bf16[2,2]
      %i = cast(%a, dtype=i64)           : i64[2,2]
      %w = cast(%a, dtype=f64)           : f64[2,2]
      return %i, %w
    })");
}

TEST(Amp, OtherDTypesOpaqueNodesAndItsOwnResultStay) {
  for (const char* text : {R"(
    graph g(x: f64[2,2], i: i64[2,2], h: f16[2,2], f: f32[2]) {
      %a = matmul(x, x)                   : f64[2,2]
      %b = matmul(i, i)                   : i64[2,2]
      %c = matmul(h, h)                   : f16[2,2]
      %d = opaque "Lrn"(f)                : f32[2]
      return %a, %b, %c, %d
    })"}) {
    EXPECT_EQ(mixed(text), normal(text));
  }
  const std::string once = mixed(R"(
    graph g(x: f32[2,2]) {
      %x.bf16 = neg(x)          : f32[2,2]
      %a = matmul(%x.bf16, x)   : f32[2,2]
      return %a
    })");
  EXPECT_EQ(mixed(once), once);
  EXPECT_NE(once.find("%x.bf16.1 = cast(x, dtype=bf16)"), std::string::npos) << once;
}

TEST(Amp, IsAPassOnRequestInEitherType) {
  const ir::Graph graph = ir::parse_graph(
      "graph g(x: f32[2,2]) { %a = matmul(x, x) : f32[2,2] %b = matmul(%a, x) : f32[2,2] "
      "return %b }");
  const auto type_after = [&](const std::string& pass) {
    const ir::Graph result = run_pipeline(graph, {{}, pass, {}}).graph;
    return result.type(result.find_value("a")).dtype;
  };
  EXPECT_EQ(type_after("amp"), DType::bf16);
  EXPECT_EQ(type_after("amp_f16"), DType::f16);
  EXPECT_EQ(type_after("dead"), DType::f32);
}

}  // namespace
}  // namespace plait::test
