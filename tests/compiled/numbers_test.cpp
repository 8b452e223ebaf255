// Numbers at their limits: infinite weights beside padding, the tail of gelu.
#include <cmath>
#include <limits>

#include "backends/backends.h"
#include "ir/text.h"
#include "tests/compiled/compiled_case.h"

namespace plait::test {
namespace {

class Numbers : public CompiledCase {};

Array filled(DType dtype, const Sizes& sizes, double value) {
  Array a(dtype, sizes);
  for (std::int64_t i = 0; i < a.count(); ++i) a.set(i, value);
  return a;
}

// What is multiplied by padding is left out, on the reference as in generated loops.
TEST_F(Numbers, InfiniteWeightsDoNotMeetPadding) {
  const ir::Graph graph = ir::parse_graph(R"(graph g(x: f32[1,2,6,6], w: f32[1,2,3,3],
    v: f32[2,1,3,3], z: f32[1,8,5,5], d: f32[8,1,3,3], e: f32[8,4,3,3], k: f32[3,2,3,3]) {
  %one = conv2d(x, w, padding=[1,1])                            : f32[1,1,6,6]
  %up = conv_transpose2d(x, v)                                  : f32[1,1,8,8]
  %stretched = conv_transpose2d(x, v, stride=[2,2], padding=[1,1]) : f32[1,1,11,11]
  %depth = conv2d(z, d, padding=[1,1], groups=8)                : f32[1,8,5,5]
  %last = conv2d_input_grad(z, d, padding=[1,1], groups=8, size=[5,5]) : f32[1,8,5,5]
  %groups = conv2d(z, e, padding=[2,0], groups=2, stride=[2,1]) : f32[1,8,4,3]
  %three = conv2d(x, k, padding=[1,1])                          : f32[1,3,6,6]
  return %one, %up, %stretched, %depth, %last, %groups, %three
})");
  const double infinity = std::numeric_limits<double>::infinity();
  Arrays feeds{{"x", filled(DType::f32, {1, 2, 6, 6}, 1.5)},
               {"z", filled(DType::f32, {1, 8, 5, 5}, 0.5)},
               {"w", filled(DType::f32, {1, 2, 3, 3}, infinity)},
               {"v", filled(DType::f32, {2, 1, 3, 3}, infinity)},
               {"d", filled(DType::f32, {8, 1, 3, 3}, infinity)},
               {"e", filled(DType::f32, {8, 4, 3, 3}, -infinity)},
               {"k", filled(DType::f32, {3, 2, 3, 3}, infinity)}};
  Session reference(ir::Package{{graph}}, make_target("ref"));
  const Arrays want = reference.run({"", feeds, {}});
  for (const auto& [name, value] : run_compiled(graph, feeds)) {
    EXPECT_TRUE(value.same_bits(want.at(name))) << name;
    EXPECT_FALSE(std::isnan(want.at(name).real(0))) << name;
  }
}

// The same where there is enough to do for an engine, and for Winograd: one weight of 29 is
// infinite.
TEST_F(Numbers, InfiniteWeightsOnEngines) {
  if (tested() != Tested::kCpu) {
    GTEST_SKIP() << "contractions of GPUs multiply the zero of the padding (docs/programs.md)";
  }
  const ir::Graph graph = ir::parse_graph(R"(graph g(x: f32[2,16,14,14], h: bf16[2,16,14,14],
    w: f32[24,16,3,3], u: bf16[24,16,3,3], f: f32[20,16,5,5], v: f32[16,24,3,3]) {
  %three = conv2d(x, w, padding=[1,1])                             : f32[2,24,14,14]
  %half = conv2d(h, u, padding=[1,1])                              : bf16[2,24,14,14]
  %five = conv2d(x, f, padding=[2,2], stride=[2,2])                : f32[2,20,7,7]
  %up = conv_transpose2d(x, v)                                     : f32[2,24,16,16]
  %stretched = conv_transpose2d(x, v, stride=[2,2], padding=[1,1]) : f32[2,24,27,27]
  %pooled = relu(%three)                                           : f32[2,24,14,14]
  return %three, %half, %five, %up, %stretched, %pooled
})");
  Arrays feeds;
  for (const ir::ValueId id : graph.feeds) {
    const ir::Value& feed = graph.value(id);
    Array a(feed.type.dtype, sizes_of(feed.type.shape));
    const bool weight = feed.name != "x" && feed.name != "h";
    for (std::int64_t i = 0; i < a.count(); ++i) {
      const double value = 0.25 + static_cast<double>(i * 37 % 11) / 16;
      a.set(i, weight && i % 29 == 7 ? std::numeric_limits<double>::infinity() : value);
    }
    feeds.emplace(feed.name, std::move(a));
  }
  Session reference(ir::Package{{graph}}, make_target("ref"));
  const Arrays want = reference.run({"", feeds, {}});
  for (const auto& [name, value] : run_compiled(graph, feeds)) {
    const Array& right = want.at(name);
    std::int64_t finite = 0;
    for (std::int64_t i = 0; i < right.count(); ++i) {
      const double got = value.real(i), is = right.real(i);
      finite += std::isfinite(is);
      if (std::isfinite(is)) {
        ASSERT_LE(std::abs(got - is), (right.dtype() == DType::bf16 ? 0x1p-7 : 1e-4) * is) << name;
      } else {
        ASSERT_EQ(got, is) << name << " at " << i;
      }
    }
    EXPECT_LT(finite, right.count()) << name;
  }
}

/// Phi(x) to all digits of a double.
double normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// By 1 + erf(x / sqrt 2) it was off by 1.2e-5 of the result at -2.82. The argument is rounded
// twice, in 1 / sqrt 2 and in the product: up to 1.5 units, of which x^2 times as many arrive.
TEST_F(Numbers, GeluKeepsItsDigitsInTheTail) {
  constexpr std::int64_t kCount = 4000;
  const ir::Graph graph = ir::parse_graph(R"(graph g(x: f32[4000], dy: f32[4000]) {
  %y = gelu(x)                                        : f32[4000]
  return %y
})");
  Array x(DType::f32, {kCount});
  for (std::int64_t i = 0; i < kCount; ++i) x.set(i, -8 + 12.0 * static_cast<double>(i) / kCount);
  x.set(0, -2.82);
  const Arrays feeds{{"x", x}, {"dy", filled(DType::f32, {kCount}, 1)}};
  Session reference(ir::Package{{graph}}, make_target("ref"));
  for (const Arrays& got : {run_compiled(graph, feeds), reference.run({"", feeds, {}})}) {
    for (std::int64_t i = 0; i < kCount; ++i) {
      const double at = x.real(i), want = at * normal(at);
      EXPECT_LE(std::abs(got.at("y").real(i) - want),
                (1.5 * at * at + 8) * 0x1p-24 * std::abs(want))
          << at;
    }
  }
}

}  // namespace
}  // namespace plait::test
