// f16 and bf16: every bit pattern, rounding against a search for the nearest value, arithmetic
// against rounding the double result.
#include "base/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace plait {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// The non-negative finite values in order, with the first one beyond them; index is the bits.
template <Half H>
const std::vector<double>& ladder() {
  static const std::vector<double> values = [] {
    std::vector<double> v;
    for (std::uint32_t bits = 0;; ++bits) {
      H h;
      h.bits = static_cast<std::uint16_t>(bits);
      const double x = static_cast<float>(h);
      if (std::isinf(x)) break;
      v.push_back(x);
    }
    v.push_back(2 * v.back() - v[v.size() - 2]);
    return v;
  }();
  return values;
}

/// Bits of the value nearest to x, found by comparing x with its neighbours' midpoint.
template <Half H>
std::uint16_t nearest_bits(double x) {
  const std::vector<double>& v = ladder<H>();
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::abs(x);
  const std::size_t infinity = v.size() - 1;  // its bits follow those of the largest finite value
  if (size >= v.back()) return static_cast<std::uint16_t>(sign | infinity);
  const auto above =
      static_cast<std::size_t>(std::upper_bound(v.begin(), v.end(), size) - v.begin());
  const std::size_t below = above - 1;
  const double middle = (v[below] + v[above]) / 2;
  const bool up = size > middle || (size == middle && (below & 1));
  return static_cast<std::uint16_t>(sign | (up ? above : below));
}

template <class H>
class HalfTest : public ::testing::Test {};
using Halves = ::testing::Types<f16, bf16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, EveryPatternRoundTrips) {
  int numbers = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    TypeParam h;
    h.bits = static_cast<std::uint16_t>(bits);
    const float x = h;
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(x)))) << std::hex << bits;
      continue;
    }
    ++numbers;
    ASSERT_EQ(TypeParam(x).bits, bits) << x;
  }
  const int expected = std::is_same_v<TypeParam, f16> ? 2 * (31 * 1024 + 1) : 2 * (255 * 128 + 1);
  EXPECT_EQ(numbers, expected);
}

TYPED_TEST(HalfTest, RoundsToNearestEven) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-150, 130), fraction(1, 2);
  for (int i = 0; i < 200000; ++i) {
    const double x = std::ldexp(fraction(random), static_cast<int>(exponent(random)));
    ASSERT_EQ(TypeParam(x).bits, nearest_bits<TypeParam>(x)) << x;
    ASSERT_EQ(TypeParam(-x).bits, nearest_bits<TypeParam>(-x)) << -x;
  }
}

TYPED_TEST(HalfTest, TiesAndTheirNeighbours) {
  const std::vector<double>& v = ladder<TypeParam>();
  for (std::size_t i = 0; i + 1 < v.size(); ++i) {
    const double middle = (v[i] + v[i + 1]) / 2;
    const std::size_t even = i & 1 ? i + 1 : i;
    ASSERT_EQ(TypeParam(middle).bits, even) << middle;
    ASSERT_EQ(TypeParam(-middle).bits, even | 0x8000) << -middle;
    ASSERT_EQ(TypeParam(std::nextafter(middle, 0)).bits, i) << middle;
    ASSERT_EQ(TypeParam(std::nextafter(middle, kInf)).bits, i + 1) << middle;
  }
}

TYPED_TEST(HalfTest, ArithmeticIsCorrectlyRounded) {
  std::mt19937 random(11);
  for (int i = 0; i < 200000; ++i) {
    TypeParam a, b;
    a.bits = static_cast<std::uint16_t>(random());
    b.bits = static_cast<std::uint16_t>(random());
    const double x = static_cast<float>(a), y = static_cast<float>(b);
    const std::pair<TypeParam, double> results[] = {
        {a + b, x + y}, {a - b, x - y}, {a * b, x * y}, {a / b, x / y}};
    for (const auto& [half, exact] : results) {
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(static_cast<float>(half))) << x << " and " << y;
      } else {
        ASSERT_EQ(half.bits, TypeParam(exact).bits) << x << " and " << y;
      }
    }
  }
}

TEST(F16, KnownValues) {
  EXPECT_EQ(f16(1.0).bits, 0x3c00);
  EXPECT_EQ(f16(-2.0).bits, 0xc000);
  EXPECT_EQ(f16(65504.0).bits, 0x7bff);
  EXPECT_EQ(f16(65519.99).bits, 0x7bff);
  EXPECT_EQ(f16(65520.0).bits, 0x7c00) << "half way beyond the largest rounds to infinity";
  EXPECT_EQ(f16(1e300).bits, 0x7c00);
  EXPECT_EQ(f16(-kInf).bits, 0xfc00);
  EXPECT_EQ(f16(0x1p-24).bits, 0x0001);
  EXPECT_EQ(f16(0x1p-25).bits, 0x0000);
  EXPECT_EQ(f16(0x1.0000000001p-25).bits, 0x0001);
  EXPECT_EQ(f16(0x1p-14).bits, 0x0400);
  EXPECT_EQ(f16(-0.0).bits, 0x8000);
  EXPECT_EQ(f16(1.0 / 3).bits, 0x3555);
  EXPECT_TRUE(std::isnan(static_cast<float>(f16(std::nan("")))));
}

TEST(BF16, KnownValues) {
  EXPECT_EQ(bf16(1.0).bits, 0x3f80);
  EXPECT_EQ(bf16(3.3895313892515355e38).bits, 0x7f7f);
  EXPECT_EQ(bf16(3.4e38).bits, 0x7f80) << "beyond the largest bf16, not beyond the largest f32";
  EXPECT_EQ(bf16(0x1p-133).bits, 0x0001);
  EXPECT_EQ(bf16(0x1p-134).bits, 0x0000);
  EXPECT_EQ(bf16(-0x1.8p-134).bits, 0x8001);
  EXPECT_EQ(bf16(0.1).bits, 0x3dcd);
  EXPECT_EQ(bf16(kInf).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(static_cast<float>(bf16(std::nan("")))));
  // One rounding from double: by way of f32 this would tie and round down.
  EXPECT_EQ(bf16(1.0 + 0x1p-8 + 0x1p-40).bits, 0x3f81);
}

}  // namespace
}  // namespace plait
