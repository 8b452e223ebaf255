// Which numbers fit a dtype: the ends of every range, and what is said beyond them.
#include "base/fits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plait {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Fits, IntegersHoldWholeNumbersOfTheirRange) {
  EXPECT_EQ(misfit(0.5, DType::i64),
            "i64 holds whole numbers from -9223372036854775808 to 9223372036854775807");
  EXPECT_EQ(misfit(-0x1p63, DType::i64), "");
  EXPECT_NE(misfit(0x1p63, DType::i64), "");
  EXPECT_EQ(misfit(-128, DType::i8), "");
  EXPECT_EQ(misfit(128, DType::i8), "i8 holds whole numbers from -128 to 127");
  EXPECT_EQ(misfit(255, DType::u8), "");
  EXPECT_EQ(misfit(-1, DType::u8), "u8 holds whole numbers from 0 to 255");
  EXPECT_EQ(misfit(1, DType::boolean), "");
  EXPECT_EQ(misfit(2, DType::boolean), "bool holds 0 and 1");
  for (const DType t : {DType::i64, DType::i32, DType::i16, DType::i8, DType::u8, DType::boolean}) {
    EXPECT_NE(misfit(std::nan(""), t), "") << t;
    EXPECT_NE(misfit(kInf, t), "") << t;
    EXPECT_EQ(misfit(-0.0, t), "") << t;
  }
}

TEST(Fits, FloatsRoundButDoNotOverflowOrVanish) {
  for (const DType t : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    EXPECT_EQ(misfit(0.1, t), "") << t;
    EXPECT_EQ(misfit(-kInf, t), "") << t;
    EXPECT_EQ(misfit(std::nan(""), t), "") << t;
    EXPECT_EQ(misfit(0, t), "") << t;
  }
  EXPECT_EQ(misfit(65519, DType::f16), "");
  EXPECT_EQ(misfit(65520, DType::f16), "f16 holds nothing above 65504");
  EXPECT_EQ(misfit(-1e5, DType::f16), "f16 holds nothing above 65504");
  EXPECT_EQ(misfit(0x1p-24, DType::f16), "");
  EXPECT_EQ(misfit(1e-8, DType::f16), "f16 holds nothing between 0 and 5.96046e-08");
  EXPECT_EQ(misfit(1e38, DType::bf16), "");
  EXPECT_EQ(misfit(1e39, DType::f32), "f32 holds nothing above 3.40282e+38");
  EXPECT_NE(misfit(1e-46, DType::f32), "");
  EXPECT_EQ(misfit(1e-300, DType::f64), "");
}

}  // namespace
}  // namespace plait
