// Nests and their interpreter on small cases written out by hand.
#include "loop/nest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plait::loop {
namespace {

std::vector<double> reals(const Array& a) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < a.count(); ++i) out.push_back(a.real(i));
  return out;
}

TEST(Expr, CountsEachSharedOperationOnce) {
  const Expr x = Expr::load(0);
  const Expr square = x * x;
  EXPECT_EQ(operation_count(square + square), 2);
  EXPECT_EQ(operation_count(x), 0);
  EXPECT_EQ(text(select(x < 0.0, -x, x)), "select(lt(x0,0.0),neg(x0),x0)");
}

TEST(Expr, WrongNumberOfOperandsIsABug) { EXPECT_THROW(Expr(ScalarOp::kAdd, {Expr(1.0)}), Bug); }

TEST(Scalar, IntegersWrapAndDivideTowardsMinusInfinity) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(apply_integer(ScalarOp::kAdd, most, 1, 0), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(apply_integer(ScalarOp::kFloorDiv, -7, 2, 0), -4);
  EXPECT_EQ(apply_integer(ScalarOp::kMod, -7, 2, 0), 1);
  EXPECT_EQ(apply_integer(ScalarOp::kMod, 7, -2, 0), -1);
  EXPECT_EQ(apply_integer(ScalarOp::kPow, 3, 4, 0), 81);
  EXPECT_THROW(apply_integer(ScalarOp::kFloorDiv, 1, 0, 0), RunError);
}

TEST(Scalar, MaximumAndMinimumPropagateNaN) {
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(apply_real(ScalarOp::kMax, nan, 1.0, 0.0)));
  EXPECT_TRUE(std::isnan(apply_real(ScalarOp::kMax, 1.0, nan, 0.0)));
  EXPECT_TRUE(std::isnan(apply_real(ScalarOp::kMin, 1.0, nan, 0.0)));
  EXPECT_EQ(apply_real(ScalarOp::kRound, 2.5, 0.0, 0.0), 2.0);
}

Nest matrix_product(const Dim& m, const Dim& k, const Dim& n) {
  Nest nest;
  const Dim i = add_index(nest, "m", m), j = add_index(nest, "n", n);
  const Dim s = add_index(nest, "k", k, true);
  const Expr a = add_load(nest, {0, {i, s}});
  const Expr b = add_load(nest, {1, {j, s}});
  nest.body = a * b;
  nest.reduce = Reduce::kSum;
  return nest;
}

TEST(Nest, PrintsItsIndexMap) {
  EXPECT_EQ(map_text(matrix_product(2, 3, 2)), "mk,nk->mn");
  EXPECT_EQ(point_count(matrix_product(2, 3, 2)), Dim(12));
}

TEST(Interpret, MatrixProduct) {
  const Array a = Array::of(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Array b = Array::of(DType::f32, {2, 3}, {1, 0, 1, 0, 1, 0});
  Array y(DType::f32, {2, 2});
  interpret(matrix_product(2, 3, 2), {&a, &b}, y);
  EXPECT_EQ(reals(y), (std::vector<double>{4, 2, 10, 5}));
}

TEST(Interpret, SymbolsAreFixedByBindings) {
  const Dim rows = Dim::symbol("rows", 1, 8);
  const Array a = Array::of(DType::i32, {2, 1}, {3, 4});
  const Array b = Array::of(DType::i32, {1, 1}, {2});
  Array y(DType::i32, {2, 1});
  interpret(matrix_product(rows, 1, 1), {&a, &b}, y, {{"rows", Dim(2)}});
  EXPECT_EQ(reals(y), (std::vector<double>{6, 8}));
  EXPECT_THROW(interpret(matrix_product(rows, 1, 1), {&a, &b}, y), UserError);
}

TEST(Interpret, GuardsGiveThePadding) {
  Nest nest;
  const Dim i = add_index(nest, "i", 5);
  nest.body = add_load(nest, {0, {i - 1}, {{i - 1, 0, 3}}, -7});
  const Array x = Array::of(DType::f16, {3}, {1, 2, 3});
  Array y(DType::f16, {5});
  interpret(nest, {&x}, y);
  EXPECT_EQ(reals(y), (std::vector<double>{-7, 1, 2, 3, -7}));
}

TEST(Interpret, LoadedIndicesGatherAndAreChecked) {
  Nest nest;
  const Dim i = add_index(nest, "i", 3), j = add_index(nest, "j", 2);
  const Dim row = add_loaded(nest, "r", 2, {1, {i}});
  nest.body = add_load(nest, {0, {row, j}});
  const Array x = Array::of(DType::f32, {2, 2}, {1, 2, 3, 4});
  Array ids = Array::of(DType::i64, {3}, {1, 0, 1});
  Array y(DType::f32, {3, 2});
  interpret(nest, {&x, &ids}, y);
  EXPECT_EQ(reals(y), (std::vector<double>{3, 4, 1, 2, 3, 4}));
  ids.set_integer(2, 2);
  try {
    interpret(nest, {&x, &ids}, y);
    FAIL() << "an index outside its range was read";
  } catch (const RunError& e) {
    EXPECT_STREQ(e.what(), "index 2 is outside [0, 2)");
  }
}

TEST(Interpret, EmptyReductionsGiveTheNeutralElement) {
  for (auto [kind, neutral] : {std::pair{Reduce::kSum, 0.0}, {Reduce::kProd, 1.0}}) {
    Nest nest;
    const Dim i = add_index(nest, "i", 2), k = add_index(nest, "k", 0, true);
    nest.body = add_load(nest, {0, {i, k}});
    nest.reduce = kind;
    const Array x(DType::f32, {2, 0});
    Array y(DType::f32, {2});
    interpret(nest, {&x}, y);
    EXPECT_EQ(reals(y), (std::vector<double>{neutral, neutral}));
  }
}

TEST(Interpret, SumsOfFloatsRunInDouble) {
  Nest nest;
  const Dim k = add_index(nest, "k", 3, true);
  nest.body = add_load(nest, {0, {k}});
  nest.reduce = Reduce::kSum;
  const Array x = Array::of(DType::f32, {3}, {1e8, 1, -1e8});
  Array y(DType::f32, {});
  interpret(nest, {&x}, y);
  EXPECT_EQ(y.real(0), 1.0);
}

TEST(Interpret, QuasiAffineIndices) {
  Nest nest;  // [6] seen as [3,2], transposed to [2,3] by division and remainder
  const Dim f = add_index(nest, "f", 6);
  nest.body = add_load(nest, {0, {mod(f, 3), floordiv(f, 3)}});
  const Array x = Array::of(DType::i64, {3, 2}, {0, 1, 2, 3, 4, 5});
  Array y(DType::i64, {6});
  interpret(nest, {&x}, y);
  EXPECT_EQ(reals(y), (std::vector<double>{0, 2, 4, 1, 3, 5}));
}

TEST(Interpret, LargeIntegersAreRoundedOnce) {
  Nest nest;
  const Dim i = add_index(nest, "i", 1);
  nest.body = add_load(nest, {0, {i}});
  Array x(DType::i64, {1});
  x.set_integer(0, (1LL << 60) + (1LL << 52) + 1);
  Array y(DType::bf16, {1});
  interpret(nest, {&x}, y);
  EXPECT_EQ(y.real(0), std::ldexp(1.0, 60) + std::ldexp(1.0, 53));
}

}  // namespace
}  // namespace plait::loop
