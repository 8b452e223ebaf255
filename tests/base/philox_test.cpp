// Philox: the known answers of Random123, what keys a draw, and the distributions made from it.
#include "base/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace plait {
namespace {

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Philox{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Philox{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Philox{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, EveryPartOfTheKeyMatters) {
  const RandomKey base{.seed = 1, .step = 2, .stream = 3};
  std::set<Philox> draws{
      random_bits(base, 0),
      random_bits(base, 1),
      random_bits(base, 1ULL << 32),
      random_bits({.seed = 9, .step = 2, .stream = 3}, 0),
      random_bits({.seed = 1 + (1ULL << 32), .step = 2, .stream = 3}, 0),
      random_bits({.seed = 1, .step = 9, .stream = 3}, 0),
      random_bits({.seed = 1, .step = 2 + (1ULL << 32), .stream = 3}, 0),
      random_bits({.seed = 1, .step = 2, .stream = 9}, 0),
  };
  EXPECT_EQ(draws.size(), 8u);
  EXPECT_EQ(random_bits(base, 5), random_bits(base, 5));
}

TEST(Philox, UniformIsInRangeAndEven) {
  const RandomKey key{.seed = 42};
  constexpr int kDraws = 100000;
  double sum = 0, squares = 0;
  int tenths[10] = {};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double u = random_uniform(key, i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ASSERT_EQ(static_cast<double>(static_cast<float>(u)), u) << "exact in f32";
    sum += u;
    squares += u * u;
    ++tenths[static_cast<int>(u * 10)];
  }
  // Five standard deviations: the variance of u is 1/12, that of u^2 is 4/45.
  EXPECT_NEAR(sum / kDraws, 1.0 / 2, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kDraws));
  for (int n : tenths) EXPECT_NEAR(n, kDraws / 10, 5 * std::sqrt(kDraws * 0.09));
}

TEST(Philox, NormalHasTheMoments) {
  const RandomKey key{.seed = 7, .step = 1, .stream = 2};
  constexpr int kDraws = 200000;
  double moments[5] = {};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double x = random_normal(key, i);
    ASSERT_TRUE(std::isfinite(x));
    double power = 1;
    for (int k = 1; k <= 4; ++k) moments[k] += power *= x;
  }
  // The variance of x^k is E[x^2k] - E[x^k]^2: 1, 2, 15, 96.
  EXPECT_NEAR(moments[1] / kDraws, 0.0, 5 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(moments[2] / kDraws, 1.0, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(moments[3] / kDraws, 0.0, 5 * std::sqrt(15.0 / kDraws));
  EXPECT_NEAR(moments[4] / kDraws, 3.0, 5 * std::sqrt(96.0 / kDraws));
}

}  // namespace
}  // namespace plait
