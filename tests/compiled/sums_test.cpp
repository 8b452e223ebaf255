// Sums of very many terms: rows and columns by generated loops, and contractions.
#include <cmath>

#include "ir/text.h"
#include "tests/compiled/compiled_case.h"

namespace plait::test {
namespace {

struct LongSum {
  const char* name;
  const char* text;
  bool heavy;        // takes minutes where kernels are emulated
  double terms = 1;  // that a result is the sum of
};

// Terms are made where they are summed, so that 10^8 of them take no memory. 0.1 is the same in
// every term: each addition is rounded the same way, which is the worst there is.
constexpr LongSum kLongSums[] = {
    {"Row7", R"(graph g(x: f32[1]) {
  %b = broadcast_to(x, shape=[10000000]) : f32[10000000]
  %e = square(%b)                        : f32[10000000]
  %m = mean(%e)                          : f32[]
  return %m
})",
     false},
    {"Rows7", R"(graph g(x: f32[1]) {
  %b = broadcast_to(x, shape=[2,31,161291]) : f32[2,31,161291]
  %e = square(%b)                        : f32[2,31,161291]
  %m = mean(%e, axes=[1,2])              : f32[2]
  return %m
})",
     false},
    {"Columns7", R"(graph g(x: f32[3]) {
  %b = broadcast_to(x, shape=[3333333,3]) : f32[3333333,3]
  %e = square(%b)                        : f32[3333333,3]
  %m = mean(%e, axes=[0])                : f32[3]
  return %m
})",
     false},
    {"RowAndColumn7", R"(graph g(x: f32[1,7]) {
  %b = broadcast_to(x, shape=[1428571,7]) : f32[1428571,7]
  %e = square(%b)                        : f32[1428571,7]
  %m = mean(%e)                          : f32[]
  %s = sum(%e, axes=[1])                 : f32[1428571]
  %n = mean(%s)                          : f32[]
  return %m, %n
})",
     true},
    {"Row8", R"(graph g(x: f32[1]) {
  %b = broadcast_to(x, shape=[100000000]) : f32[100000000]
  %e = square(%b)                        : f32[100000000]
  %m = mean(%e)                          : f32[]
  return %m
})",
     true},
    {"Columns8", R"(graph g(x: f32[4]) {
  %b = broadcast_to(x, shape=[25000000,4]) : f32[25000000,4]
  %e = square(%b)                        : f32[25000000,4]
  %m = mean(%e, axes=[0])                : f32[4]
  return %m
})",
     true},
};

constexpr LongSum kLongContractions[] = {
    {"Linear", R"(graph g(x: f32[1]) {
  %a = broadcast_to(x, shape=[1,300000]) : f32[1,300000]
  %w = broadcast_to(x, shape=[3,300000]) : f32[3,300000]
  %m = linear(%a, %w)                    : f32[1,3]
  return %m
})",
     false, 3e5},
    {"Matmul7", R"(graph g(x: f32[1]) {
  %a = broadcast_to(x, shape=[2,10000000]) : f32[2,10000000]
  %b = broadcast_to(x, shape=[10000000,3]) : f32[10000000,3]
  %m = matmul(%a, %b)                       : f32[2,3]
  return %m
})",
     true, 1e7},
    {"Linear7", R"(graph g(x: f32[1]) {
  %a = broadcast_to(x, shape=[1,10000000]) : f32[1,10000000]
  %w = broadcast_to(x, shape=[3,10000000]) : f32[3,10000000]
  %m = linear(%a, %w)                      : f32[1,3]
  return %m
})",
     true, 1e7},
    {"ConvolutionGradient6", R"(graph g(x: f32[1,1,1,1]) {
  %i = broadcast_to(x, shape=[10,2,402,402])    : f32[10,2,402,402]
  %d = broadcast_to(x, shape=[10,3,400,400])    : f32[10,3,400,400]
  %m = conv2d_weight_grad(%i, %d, kernel=[3,3]) : f32[3,2,3,3]
  return %m
})",
     true, 1.6e6},
    {"Matmul8", R"(graph g(x: f32[1]) {
  %a = broadcast_to(x, shape=[1,100000000]) : f32[1,100000000]
  %b = broadcast_to(x, shape=[100000000,1]) : f32[100000000,1]
  %m = matmul(%a, %b)                       : f32[1,1]
  return %m
})",
     true, 1e8},
};

Array filled(const Sizes& sizes, double value) {
  Array a(DType::f32, sizes);
  for (std::int64_t i = 0; i < a.count(); ++i) a.set(i, value);
  return a;
}

class LongSums : public CompiledCase, public testing::WithParamInterface<LongSum> {};

// NumPy is off by 1e-5 at 10^7.
TEST_P(LongSums, KeepTheirDigits) {
  if (GetParam().heavy && tested() == Tested::kEmulated) GTEST_SKIP() << "takes too long there";
  const ir::Graph graph = ir::parse_graph(GetParam().text);
  const ir::ValueId feed = graph.feeds.at(0);
  const auto x = static_cast<float>(std::sqrt(0.1));
  const double want = static_cast<double>(x * x);
  const Array given = filled(sizes_of(graph.type(feed).shape), static_cast<double>(x));
  for (const auto& [name, value] : run_compiled(graph, {{"x", given}})) {
    const double scale = name == "n" ? 7 : 1;
    for (std::int64_t i = 0; i < value.count(); ++i) {
      EXPECT_LE(std::abs(value.real(i) / (scale * want) - 1), 4e-6) << name << ' ' << i;
    }
  }
}

class LongContractions : public CompiledCase, public testing::WithParamInterface<LongSum> {};

// Blocks of up to 512 terms and groups of 64 blocks are added up in f32: each addition is off by
// half a unit of the last place at most.
TEST_P(LongContractions, KeepTheirDigits) {
  if (GetParam().heavy && tested() == Tested::kEmulated) GTEST_SKIP() << "takes too long there";
  const ir::Graph graph = ir::parse_graph(GetParam().text);
  const auto x = static_cast<float>(std::sqrt(0.1));
  const double want = static_cast<double>(x) * static_cast<double>(x) * GetParam().terms;
  const Array given = filled(sizes_of(graph.type(graph.feeds.at(0)).shape), static_cast<double>(x));
  for (const auto& [name, value] : run_compiled(graph, {{"x", given}})) {
    for (std::int64_t i = 0; i < value.count(); ++i) {
      EXPECT_LE(std::abs(value.real(i) / want - 1), (512 + 64) * 0x1p-24) << name << ' ' << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, LongContractions, testing::ValuesIn(kLongContractions),
                         [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Sizes, LongSums, testing::ValuesIn(kLongSums),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace plait::test
