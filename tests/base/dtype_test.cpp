// Names, sizes and kinds of dtypes, and how a number changes from one to another.
#include "base/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/convert.h"

namespace plait {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

TEST(DType, NamesAndSizesAgreeWithTheTypesThatStoreThem) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(dtype_named(name_of(t)), t);
    EXPECT_EQ(size_of(t), visit_dtype(t, []<class T>(TypeTag<T>) { return sizeof(T); })) << t;
    EXPECT_TRUE(kAnyDType.has(t)) << t;
    EXPECT_EQ(kFloats.has(t), is_float(t)) << t;
    EXPECT_EQ(kInts.has(t), is_int(t)) << t;
    EXPECT_EQ(kBools.has(t), t == DType::boolean) << t;
    EXPECT_EQ(is_float(t) + is_int(t) + (t == DType::boolean), 1) << t;
  }
  EXPECT_EQ(dtype_named("f33"), std::nullopt);
  EXPECT_EQ(dtype_named(""), std::nullopt);
  EXPECT_EQ(str(DType::boolean, " ", DType::bf16), "bool bf16");
  EXPECT_EQ(compute_dtype(DType::f16), DType::f32);
  EXPECT_EQ(compute_dtype(DType::bf16), DType::f32);
  EXPECT_EQ(compute_dtype(DType::f64), DType::f64);
  EXPECT_EQ(compute_dtype(DType::i8), DType::i8);
  EXPECT_THROW(visit_dtype(static_cast<DType>(77), [](auto) {}), Bug);
}

TEST(Convert, FloatToIntegerTruncatesAndSaturates) {
  EXPECT_EQ(convert<std::int32_t>(2.9), 2);
  EXPECT_EQ(convert<std::int32_t>(-2.9), -2);
  EXPECT_EQ(convert<std::int8_t>(127.9f), 127);
  EXPECT_EQ(convert<std::int8_t>(128.0f), 127);
  EXPECT_EQ(convert<std::int8_t>(-128.9), -128);
  EXPECT_EQ(convert<std::int8_t>(-1e30), -128);
  EXPECT_EQ(convert<std::uint8_t>(255.9), 255);
  EXPECT_EQ(convert<std::uint8_t>(256.0), 255);
  EXPECT_EQ(convert<std::uint8_t>(-0.5), 0);
  EXPECT_EQ(convert<std::uint8_t>(-3.0), 0);
  EXPECT_EQ(convert<std::int64_t>(0x1p63), kMax64);
  EXPECT_EQ(convert<std::int64_t>(-0x1p63), kMin64);
  EXPECT_EQ(convert<std::int64_t>(0x1.fffffffffffffp62), 0x7ffffffffffffc00);
  EXPECT_EQ(convert<std::int32_t>(kInf), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(convert<std::int32_t>(-kInf), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(convert<std::int32_t>(std::nan("")), 0);
  EXPECT_EQ(convert<std::int16_t>(f16(kInf)), 32767);
  EXPECT_EQ(convert<std::int16_t>(bf16(-1.5)), -1);
}

TEST(Convert, IntegerToIntegerWraps) {
  EXPECT_EQ(convert<std::int8_t>(std::int32_t{300}), 44);
  EXPECT_EQ(convert<std::uint8_t>(std::int64_t{-1}), 255);
  EXPECT_EQ(convert<std::int64_t>(std::uint8_t{200}), 200);
  EXPECT_EQ(convert<std::int16_t>(true), 1);
}

TEST(Convert, ToBoolIsNonzero) {
  EXPECT_TRUE(convert<bool>(0.1));
  EXPECT_TRUE(convert<bool>(std::nan("")));
  EXPECT_FALSE(convert<bool>(-0.0));
  EXPECT_TRUE(convert<bool>(std::int64_t{256}));
  EXPECT_TRUE(convert<bool>(f16(0x1p-24)));
  EXPECT_FALSE(convert<bool>(bf16(-0.0)));
}

TEST(Convert, ToFloatRoundsOnce) {
  EXPECT_EQ(convert<float>(std::int64_t{(1LL << 24) + 1}), 16777216.0f);
  EXPECT_EQ(convert<float>(0x1.0000018p0), 0x1.000002p0f);
  EXPECT_EQ(convert<f16>(1.0 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(convert<double>(f16(1.5)), 1.5);
  EXPECT_EQ(static_cast<float>(convert<bf16>(f16(1.5))), 1.5f);
  EXPECT_EQ(convert<f16>(std::int64_t{2049}).bits, f16(2048.0).bits);
  EXPECT_EQ(convert<f16>(kMax64).bits, 0x7c00);
}

TEST(Convert, LargeIntegersRoundOnceToBfloat) {
  // Half way between two bf16 values, and one beyond it: a double in between would lose the one.
  const std::int64_t tie = (1LL << 62) + (1LL << 54);
  EXPECT_EQ(static_cast<float>(convert<bf16>(tie)), 0x1p62f);
  EXPECT_EQ(static_cast<float>(convert<bf16>(tie + 1)), 0x1.02p62f);
  EXPECT_EQ(static_cast<float>(convert<bf16>(-tie - 1)), -0x1.02p62f);
  EXPECT_EQ(static_cast<float>(convert<bf16>(-tie)), -0x1p62f);
  EXPECT_EQ(static_cast<float>(convert<bf16>(kMax64)), 0x1p63f);
  EXPECT_EQ(static_cast<float>(convert<bf16>(kMin64)), -0x1p63f);
}

}  // namespace
}  // namespace plait
