// Contractions of very many f32 terms as CUDA kernels, run on the device under test.
#include "tests/codegen/cuda_product_check.h"

namespace plait::codegen::cuda {
namespace {

constexpr std::int64_t kLong = loop::kLongContraction;

/// C[m, n] = `terms` times 81/256 by 81/256. Operands do not move along k. The product is exact in
/// tf32 too; a sum is rounded from 256 on, always the same way.
Problem equal_terms(std::int64_t m, std::int64_t n, std::int64_t terms) {
  Problem p;
  p.m = {{.extent = m, .a = 1, .c = n}};
  p.n = {{.extent = n, .b = 1, .c = 1}};
  p.k = {{.extent = terms}};
  return p;
}

/// The largest relative error of a result.
double error_of(const std::string& variant, bool tf32, std::int64_t terms) {
  const Problem p = equal_terms(3, 5, terms);
  const Printed printed =
      print_product(contraction_of(p), nullptr, true, {.tf32 = tf32, .variant = variant});
  const auto device = test::device_under_test();
  const plait::cuda::Built built = device->compile({unit_header() + printed.text});
  constexpr float x = 81.0F / 256;
  std::vector<std::byte> operand(5 * sizeof x), result(15 * sizeof x);
  for (int i = 0; i < 5; ++i) set_element(DType::f32, operand.data(), i, x);
  const OnDevice a(*device, operand, "a"), c(*device, result, "c");
  launch(*device, *built.modules[0], printed, {a.word(), a.word(), c.word()}, {});
  const std::vector<std::byte> got = c.read();
  const double want = static_cast<double>(x * x) * static_cast<double>(terms);
  double worst = 0;
  for (int i = 0; i < 15; ++i) {
    worst = std::max(worst, std::abs(element(DType::f32, got.data(), i) / want - 1));
  }
  return worst;
}

TEST(CudaLongProduct, KeepsItsDigits) {
  constexpr double kBound = 512 * 0x1p-24;
  EXPECT_GT(error_of("64x64x32.fma.s2", false, kLong), 4 * kBound) << "without totals";
  EXPECT_LE(error_of("64x64x32.fma.s2", false, kLong + 100), kBound);
  EXPECT_LE(error_of("64x64x32.fma.s2.k3", false, kLong + 100), kBound);
  EXPECT_LE(error_of("32x32x32.mma.s2", true, kLong + 100), kBound);
  EXPECT_LE(error_of("simple.l1", false, 1'000'000), kBound);
  EXPECT_LE(error_of("simple.l32", false, 10'000'001), kBound);
}

TEST(CudaLongProduct, SumsEveryTerm) {
  const Problem p = cpu::matmul({.m = 2, .n = 3, .k = kLong + 1000, .b_turned = true});
  const Expected expected(p, false, 3);
  const auto device = test::device_under_test();
  for (const char* variant : {"64x64x32.fma.s2.k4", "simple.l8"}) {
    SCOPED_TRACE(variant);
    const Printed printed = print_product(contraction_of(p), nullptr, false, {.variant = variant});
    const plait::cuda::Built built = device->compile({unit_header() + printed.text});
    expect_right(*device, *built.modules[0], printed, expected, {});
  }
}

TEST(CudaLongProduct, OnlyWhereThereAreRegistersForTotals) {
  const auto has = [](std::int64_t terms, bool tf32, const std::string& word) {
    for (const std::string& v :
         product_variants(contraction_of(equal_terms(256, 256, terms)), {}, {.tf32 = tf32})) {
      if (v.find(word) != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(has(kLong, true, ".wg"));
  EXPECT_FALSE(has(kLong + 1, true, ".wg"));
  EXPECT_TRUE(has(kLong + 1, true, "64x64x32.mma"));
  EXPECT_TRUE(has(kLong, false, "128x128x32.fma"));
  EXPECT_FALSE(has(kLong + 1, false, "128x128x32.fma"));
  EXPECT_TRUE(has(kLong + 1, false, "64x64x32.fma"));
}

TEST(CudaLongProduct, ShortSumsArePrintedAsBefore) {
  for (const char* variant : {"64x64x32.fma.s2", "simple.l8"}) {
    const std::string text =
        print_product(contraction_of(equal_terms(3, 5, kLong)), nullptr, true, {.variant = variant})
            .text;
    EXPECT_EQ(text.find(" LONG ="), std::string::npos);
    EXPECT_EQ(text.find("pl_long_core"), std::string::npos);
  }
}

}  // namespace
}  // namespace plait::codegen::cuda
