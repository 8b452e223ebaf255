// Sums of very many terms: rows and columns, by generated loops.
#include <cmath>

#include "ir/text.h"
#include "tests/compiled/compiled_case.h"

namespace plait::test {
namespace {

struct LongSum {
  const char* name;
  const char* text;
  bool heavy;  // takes minutes where kernels are emulated
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

INSTANTIATE_TEST_SUITE_P(Sizes, LongSums, testing::ValuesIn(kLongSums),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace plait::test
