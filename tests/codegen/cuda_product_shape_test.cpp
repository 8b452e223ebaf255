// Tiles of a product: which are guessed, those named by their text, run on the device under test.
#include "codegen/cuda/product.h"
#include "tests/codegen/cuda_product_check.h"

namespace plait::codegen::cuda {
namespace {

using cpu::ConvShape;

struct Tried {
  Problem problem;
  DType dtype;
  const char* variant;
};

void expect_all_right(const std::vector<Tried>& all) {
  const auto device = test::device_under_test();
  for (const auto& [problem, dtype, variant] : all) {
    SCOPED_TRACE(variant);
    Problem p = problem;
    p.dtype = dtype;
    const Printed printed = print_product(contraction_of(p), nullptr, true, {true, variant});
    const plait::cuda::Built built = device->compile({unit_header() + printed.text});
    expect_right(*device, *built.modules[0], printed, Expected(p, true, 11), {});
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Weights' gradients over an image of three channels, with k cut often.
TEST(CudaProductShape, ManySplits) {
  const ConvShape few{.n = 2, .h = 9, .w = 13, .c = 3, .o = 24};
  expect_all_right({
      {cpu::conv_weight_grad(few), DType::bf16, "64x32x32.mma.s4.k256"},
      {cpu::conv_weight_grad(few), DType::f32, "64x32x32.mma.s8.k128"},
      {cpu::conv(few), DType::f32, "128x64x32.wg.s3"},
  });
}

TEST(CudaProductShape, TilesOf256Rows) {
  const ConvShape wide{.n = 1, .h = 15, .w = 18, .c = 64, .o = 72};
  expect_all_right({
      {cpu::conv(wide), DType::bf16, "256x64x64.wg.s5"},
      {cpu::conv(wide), DType::f32, "256x128x32.wg.s4"},
  });
}

/// Words that lie along rows, in one operand or both, for tensor cores that want them along k.
TEST(CudaProductShape, WordsThatAreTurned) {
  const ConvShape image{.n = 2, .h = 7, .w = 9, .c = 64, .o = 72};
  const auto matmul = [](std::int64_t k, bool a, bool b) {
    return cpu::matmul({.m = 72, .n = 40, .k = k, .a_turned = a, .b_turned = b});
  };
  expect_all_right({
      {cpu::conv_weight_grad(image), DType::f32, "128x256x32.wg.s4"},
      {cpu::conv_weight_grad(image), DType::f32, "64x64x32.wg.s8.k5"},
      {cpu::conv_input_grad(image, 0, 0), DType::f32, "128x128x32.wg.s5"},
      {matmul(200, true, true), DType::f32, "128x128x32.wg.s4"},
      {matmul(200, true, false), DType::f32, "64x256x32.wg.s5"},
      {matmul(20, true, false), DType::f32, "64x128x32.wg.s8"},
  });
}

/// Tiles that are too few for the multiprocessors are cut further than others.
TEST(CudaProductShape, SplitsFollowTheTiles) {
  const auto first = [](ConvShape s) {
    loop::Contraction c = contraction_of(cpu::conv_weight_grad(s));
    c.dtype = DType::bf16;
    return product_variants(c, {}, {})[0];
  };
  EXPECT_EQ(first({.n = 32, .h = 224, .w = 224, .c = 3, .o = 64}), "64x32x32.mma.s4.k256");
  EXPECT_EQ(first({.n = 32, .h = 28, .w = 28, .c = 512, .o = 512}).substr(0, 13), "128x256x64.wg");
}

/// Whatever the sizes: a product of one row may have no better kernel than the one without tiles.
TEST(CudaProductShape, EverySizeHasATime) {
  const std::int64_t sizes[] = {1, 2, 3, 5, 8, 13, 31, 64, 96, 256, 1000, 2048};
  const auto expect_a_time = [](const loop::Contraction& given) {
    loop::Contraction c = given;
    for (const DType t : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      c.dtype = t;
      for (const bool pairs : {false, true}) {
        const double us = product_us(c, nullptr, {}, {.tf32 = pairs, .pairs = pairs});
        EXPECT_TRUE(us > 0 && us < 1e9) << name_of(t) << ": " << us << " us";
      }
    }
  };
  for (const std::int64_t m : sizes) {
    for (const std::int64_t n : sizes) {
      for (const std::int64_t k : sizes) {
        if (m * n * k > 1 << 24) continue;
        SCOPED_TRACE(str(m, "x", n, "x", k));
        expect_a_time(contraction_of(cpu::matmul({.m = m, .n = n, .k = k})));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  for (const std::int64_t batch : {1, 2, 3, 31}) {
    const ConvShape image{.n = batch, .h = 7, .w = 7, .c = 3, .o = 64};
    expect_a_time(contraction_of(cpu::conv(image)));
    expect_a_time(contraction_of(cpu::conv_weight_grad(image)));
    expect_a_time(contraction_of(cpu::conv_input_grad(image, 0, 0)));
  }
}

TEST(CudaProductShape, VariantsAreTextThatComesBack) {
  loop::Contraction c = contraction_of(cpu::matmul({.m = 512, .n = 256, .k = 4096}));
  c.dtype = DType::bf16;
  const std::vector<std::string> all = product_variants(c, {}, {});
  EXPECT_GT(all.size(), 10u);
  for (const std::string& v : all) {
    EXPECT_EQ(print_product(c, nullptr, true, {false, v}).name,
              print_product(c, nullptr, true, {false, v}).name);
  }
  EXPECT_EQ(all.back().substr(0, 7), "simple.");
  EXPECT_EQ(print_product(c, nullptr, true, {}).name,
            print_product(c, nullptr, true, {false, all[0]}).name);
  EXPECT_EQ(print_product(c, nullptr, true, {false, "simple"}).threads, 256);
  EXPECT_THROW(print_product(c, nullptr, true, {false, "7x7x7.mma.s3"}), Bug);
  EXPECT_THROW(print_product(c, nullptr, true, {false, "128x128x32.fma.s2"}), Bug);
}

}  // namespace
}  // namespace plait::codegen::cuda
