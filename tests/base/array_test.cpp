// Host arrays and shapes.
#include "base/array.h"
#include "tests/raises.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plait {
namespace {

TEST(Array, StartsAsZeros) {
  const Array a(DType::f16, {2, 3});
  EXPECT_EQ(a.count(), 6);
  EXPECT_EQ(a.byte_count(), 12u);
  EXPECT_EQ(type_text(a), "f16[2,3]");
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(a.real(i), 0.0);
  EXPECT_EQ(Array(DType::f32, {3, 0}).byte_count(), 0u);
  EXPECT_EQ(type_text(Array(DType::boolean, {})), "bool[]");
  EXPECT_EQ(Array(DType::i8, {}).count(), 1);
}

TEST(Array, ElementsConvert) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    Array a(static_cast<DType>(i), {3});
    a.set(0, 1.0);
    a.set_integer(1, 1);
    EXPECT_EQ(a.real(0), 1.0) << a.dtype();
    EXPECT_EQ(a.integer(1), 1) << a.dtype();
    EXPECT_EQ(a.real(2), 0.0) << a.dtype();
  }
  const Array half = Array::of(DType::f16, {3}, {0.1, 70000, -2.5});
  EXPECT_EQ(half.real(0), 0.0999755859375);
  EXPECT_TRUE(std::isinf(half.real(1)));
  EXPECT_EQ(half.integer(2), -2);
  EXPECT_EQ(half.as<f16>()[2].bits, f16(-2.5).bits);
  const std::int64_t big = std::numeric_limits<std::int64_t>::max() - 1;
  Array ints(DType::i64, {1});
  ints.set_integer(0, big);
  EXPECT_EQ(ints.integer(0), big) << "exact, not by way of a double";
  Array flag(DType::boolean, {1});
  flag.set(0, 0.25);
  EXPECT_EQ(static_cast<int>(flag.data()[0]), 1) << "stored as 0 or 1";
}

TEST(Array, CastFollowsConvert) {
  const Array a = Array::of(DType::f64, {4}, {-1.5, 300.0, std::nan(""), 0.0});
  const Array bytes = a.cast(DType::u8);
  EXPECT_EQ(type_text(bytes), "u8[4]");
  EXPECT_EQ(bytes.integer(0), 0);
  EXPECT_EQ(bytes.integer(1), 255);
  EXPECT_EQ(bytes.integer(2), 0);
  const Array flags = a.cast(DType::boolean);
  EXPECT_EQ(flags.integer(2), 1);
  EXPECT_EQ(flags.integer(3), 0);
}

TEST(Array, SameBitsSeesEverything) {
  const Array a = Array::of(DType::f32, {2}, {0.0, 1.0});
  EXPECT_TRUE(a.same_bits(Array::of(DType::f32, {2}, {0.0, 1.0})));
  EXPECT_FALSE(a.same_bits(Array::of(DType::f32, {2}, {-0.0, 1.0})));
  EXPECT_FALSE(a.same_bits(Array::of(DType::f32, {2, 1}, {0.0, 1.0})));
  EXPECT_FALSE(Array(DType::f32, {0}).same_bits(Array(DType::i32, {0})));
  EXPECT_TRUE(a.same_bits(a.reshaped({2, 1}).reshaped({2})));
}

TEST(Array, Refusals) {
  EXPECT_EQ(test::message_of<UserError>([] {
              Array(DType::f32, {-1, -1});
            }),
            "an array cannot have the shape [-1,-1]");
  EXPECT_EQ(test::message_of<UserError>([] {
              Array(DType::f32, {1LL << 40, 1LL << 40});
            }),
            "shape [1099511627776,1099511627776] has more elements than 64 bits can count");
  EXPECT_EQ(test::message_of<RunError>([] { Array(DType::f64, {1LL << 61}); }),
            "cannot allocate f64[2305843009213693952] (2305843009213693952 elements of 8 bytes)");
  EXPECT_THROW(Array::of(DType::f32, {2}, {1.0}), Bug);
  EXPECT_THROW(Array(DType::f32, {2}).as<double>(), Bug);
  EXPECT_THROW(Array(DType::f32, {2}).reshaped({3}), Bug);
}

TEST(Shape, CountsAndText) {
  const Dim n = Dim::symbol("n", 1, 8);
  EXPECT_EQ(element_count(Shape{n, 4, n}), 4 * n * n);
  EXPECT_EQ(element_count(Shape{}), Dim(1));
  EXPECT_EQ(element_count(Sizes{2, 0, 5}), 0);
  EXPECT_EQ(shape_text(Shape{n + 1, 4}), "[n+1,4]");
  EXPECT_EQ(shape_text(Sizes{}), "[]");
  EXPECT_EQ(strides_of({2, 3, 4}), (Sizes{12, 4, 1}));
  EXPECT_EQ(strides_of({}), Sizes{});
}

TEST(Shape, SymbolsAreFixed) {
  const Dim n = Dim::symbol("n", 1, 8);
  EXPECT_EQ(sizes_of({n, 2 * n}, {{"n", 3}}), (Sizes{3, 6}));
  EXPECT_EQ(substitute(Shape{n, 5}, {{"n", 2}}), (Shape{2, 5}));
  EXPECT_EQ(shape_of({1, 2}), (Shape{1, 2}));
  EXPECT_EQ(test::message_of<UserError>([&] { sizes_of({n}); }),
            "the size n is symbolic where a number is needed; fix it with --set");
}

}  // namespace
}  // namespace plait
