// The prelude's conversions and random numbers have the bits of base/half.h, base/convert.h and
// base/philox.h.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/convert.h"
#include "base/half.h"
#include "base/philox.h"
#include "codegen/prelude.h"

namespace plait {
namespace {

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(PreludeBits, EveryHalfBecomesTheSameFloat) {
  for (std::uint32_t h = 0; h < 65536; ++h) {
    const auto half = static_cast<std::uint16_t>(h);
    ASSERT_EQ(bits(pl_f16_to_f(half)), bits(static_cast<float>(f16_value(half)))) << h;
    ASSERT_EQ(bits(pl_bf16_to_f(half)), bits(bf16_value(half))) << h;
  }
}

/// Random bits, every half with its neighbours, every middle between two halves with its own.
std::vector<float> floats() {
  std::vector<float> list;
  std::mt19937 random(3);
  for (int i = 0; i < 1000000; ++i) {
    list.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  }
  for (std::uint32_t h = 0; h < 65536; ++h) {
    for (const float x : {pl_f16_to_f(static_cast<std::uint16_t>(h)),
                          pl_bf16_to_f(static_cast<std::uint16_t>(h))}) {
      for (const std::uint32_t between : {0u, 0x1000u, 0x8000u}) {
        for (const std::uint32_t step : {0xffffffffu, 0u, 1u}) {
          list.push_back(std::bit_cast<float>(bits(x) + between + step));
        }
      }
    }
  }
  for (int i = 0; i < 2050; ++i) {  // the steps of the subnormals of f16, and their middles
    const float middle = static_cast<float>(i) * 0x1p-25f;
    for (const float x : {std::nextafter(middle, -1.0f), middle, std::nextafter(middle, 1.0f)}) {
      list.push_back(x);
      list.push_back(-x);
    }
  }
  return list;
}

TEST(PreludeBits, FloatsRoundToTheSameHalves) {
  for (const float x : floats()) {
    ASSERT_EQ(pl_f_to_f16(x), f16_bits(x)) << std::hexfloat << x;
    ASSERT_EQ(pl_f_to_bf16(x), bf16_bits(x)) << std::hexfloat << x;
    ASSERT_EQ(bits(pl_round_f16(x)), bits(static_cast<float>(f16_value(f16_bits(x)))))
        << std::hexfloat << x;
    ASSERT_EQ(bits(pl_round_bf16(x)), bits(bf16_value(bf16_bits(x)))) << std::hexfloat << x;
  }
}

TEST(PreludeBits, DoublesRoundOnceToHalves) {
  std::mt19937_64 random(5);
  for (const float x : floats()) {
    // A float between two halves, off by less than its own ulp: rounding twice would tie.
    const auto wide = std::bit_cast<std::uint64_t>(static_cast<double>(x));
    for (const std::uint64_t step : {std::uint64_t(0), std::uint64_t(1), ~std::uint64_t(0)}) {
      const double d = std::bit_cast<double>(wide + step);
      ASSERT_EQ(pl_d_to_f16(d), f16_bits(d)) << std::hexfloat << d;
      ASSERT_EQ(pl_d_to_bf16(d), bf16_bits(d)) << std::hexfloat << d;
    }
    const double any = std::bit_cast<double>(random());
    ASSERT_EQ(pl_d_to_f16(any), f16_bits(any)) << std::hexfloat << any;
    ASSERT_EQ(pl_d_to_bf16(any), bf16_bits(any)) << std::hexfloat << any;
  }
}

template <class From>
std::vector<From> reals() {
  std::vector<From> list = {0,
                            -From(0),
                            std::numeric_limits<From>::quiet_NaN(),
                            std::numeric_limits<From>::infinity(),
                            -std::numeric_limits<From>::infinity(),
                            std::numeric_limits<From>::max(),
                            std::numeric_limits<From>::denorm_min()};
  for (int power = 0; power < 66; ++power) {
    const From edge = std::ldexp(From(1), power);
    for (const From x : {edge, std::nextafter(edge, From(0)), std::nextafter(edge, 2 * edge),
                         edge - From(0.5), edge + From(0.5), edge - 1, edge + 1}) {
      list.push_back(x);
      list.push_back(-x);
    }
  }
  std::mt19937_64 random(9);
  std::uniform_real_distribution<From> unit(-1, 1);
  for (int i = 0; i < 20000; ++i) list.push_back(std::ldexp(unit(random), i % 70));
  return list;
}

TEST(PreludeBits, RealsBecomeTheSameIntegers) {
  for (const float x : reals<float>()) {
    ASSERT_EQ(pl_f_to_i64(x), convert<std::int64_t>(x)) << x;
    ASSERT_EQ(pl_f_to_i32(x), convert<std::int32_t>(x)) << x;
    ASSERT_EQ(pl_f_to_i16(x), convert<std::int16_t>(x)) << x;
    ASSERT_EQ(pl_f_to_i8(x), convert<std::int8_t>(x)) << x;
    ASSERT_EQ(pl_f_to_u8(x), convert<std::uint8_t>(x)) << x;
    ASSERT_EQ(pl_f_to_bool(x), convert<bool>(x)) << x;
  }
  for (const double x : reals<double>()) {
    ASSERT_EQ(pl_d_to_i64(x), convert<std::int64_t>(x)) << x;
    ASSERT_EQ(pl_d_to_i32(x), convert<std::int32_t>(x)) << x;
    ASSERT_EQ(pl_d_to_i16(x), convert<std::int16_t>(x)) << x;
    ASSERT_EQ(pl_d_to_i8(x), convert<std::int8_t>(x)) << x;
    ASSERT_EQ(pl_d_to_u8(x), convert<std::uint8_t>(x)) << x;
    ASSERT_EQ(pl_d_to_bool(x), convert<bool>(x)) << x;
  }
}

TEST(PreludeBits, IntegersWrapAndRoundOnce) {
  std::mt19937_64 random(13);
  std::vector<std::int64_t> list = {0, std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min()};
  for (int i = 0; i < 200000; ++i) list.push_back(static_cast<std::int64_t>(random()) >> (i % 64));
  for (int power = 0; power < 63; ++power) {  // next to the middle between two halves
    for (const std::int64_t middle : {std::int64_t(1) << power, std::int64_t(0x1001) << power % 50,
                                      std::int64_t(0x201) << power % 54}) {
      for (const std::int64_t x : {middle - 1, middle, middle + 1}) {
        list.push_back(x);
        list.push_back(-x);
      }
    }
  }
  for (const std::int64_t x : list) {
    ASSERT_EQ(pl_i_to_i32(x), convert<std::int32_t>(x)) << x;
    ASSERT_EQ(pl_i_to_i16(x), convert<std::int16_t>(x)) << x;
    ASSERT_EQ(pl_i_to_i8(x), convert<std::int8_t>(x)) << x;
    ASSERT_EQ(pl_i_to_u8(x), convert<std::uint8_t>(x)) << x;
    ASSERT_EQ(pl_i_to_bool(x), convert<bool>(x)) << x;
    ASSERT_EQ(pl_i_to_f16(x), convert<f16>(x).bits) << x;
    ASSERT_EQ(pl_i_to_bf16(x), convert<bf16>(x).bits) << x;
  }
}

TEST(PreludeBits, RandomNumbersAreThoseOfPhilox) {
  std::mt19937_64 random(17);
  for (int i = 0; i < 20000; ++i) {
    const RandomKey key{random(), random() >> (i % 64), static_cast<std::uint32_t>(random())};
    const std::uint64_t element = random() >> (i % 60);
    const pl_philox_t got = pl_random_bits(key.seed, key.step, key.stream, element);
    ASSERT_EQ((Philox{got.a, got.b, got.c, got.d}), random_bits(key, element));
    ASSERT_EQ(static_cast<double>(pl_uniform(key.seed, key.step, key.stream, element)),
              random_uniform(key, element));
    ASSERT_EQ(pl_normal(key.seed, key.step, key.stream, element), random_normal(key, element));
  }
}

}  // namespace
}  // namespace plait
