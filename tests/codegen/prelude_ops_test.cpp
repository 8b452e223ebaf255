// Every scalar operation has its function in the prelude; those that are no transcendental function
// compute the bits that loop/scalar.h does.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/error.h"
#include "codegen/prelude_text.h"
#include "tests/codegen/prelude_functions.h"

namespace plait::codegen {
namespace {

using loop::ScalarOp;

/// Equal bits, or both NaN.
template <class T>
bool same(T a, T b) {
  if constexpr (std::floating_point<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b && std::signbit(a) == std::signbit(b);
  } else {
    return a == b;
  }
}

template <class T>
std::vector<T> operands() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> list = {0, 1, -1, 2, -2, 3, -3, 7, -7, 63, Limits::max(), Limits::lowest()};
  if constexpr (std::floating_point<T>) {
    for (const T x : {-T(0), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), T(0.5),
                      T(-0.5), T(1.5), T(-2.5), T(0.3), T(1e9), Limits::denorm_min()}) {
      list.push_back(x);
    }
  }
  std::mt19937_64 random(19);
  for (int i = 0; i < 20; ++i) {
    const auto whole = static_cast<std::int64_t>(random()) >> (3 * i);
    list.push_back(static_cast<T>(whole) / static_cast<T>(std::floating_point<T> ? 1024 : 1));
  }
  return list;
}

template <class T, std::size_t N>
void expect_as_interpreted(const PreludeFunction<T> (&entries)[N]) {
  const std::vector<T> list = operands<T>();
  for (const PreludeFunction<T>& entry : entries) {
    const bool divides = entry.op == ScalarOp::kFloorDiv || entry.op == ScalarOp::kMod;
    for (const T a : list) {
      for (const T b : list) {
        if (std::integral<T> && divides && b == 0) continue;
        const T got = entry(a, b, T(5)), want = loop::apply<T>(entry.op, a, b, T(5));
        EXPECT_TRUE(same(got, want)) << loop::info(entry.op).name << "(" << a << ", " << b
                                     << ") = " << got << ", not " << want;
      }
    }
  }
}

TEST(PreludeOps, FloatsAsInterpreted) { expect_as_interpreted(kExactFloat); }
TEST(PreludeOps, DoublesAsInterpreted) { expect_as_interpreted(kExactDouble); }
TEST(PreludeOps, IntegersAsInterpreted) { expect_as_interpreted(kExactInteger); }

/// A limit that the compiler sees takes another way than one that it does not.
template <class T, T (*kMax)(T, T), T (*kMin)(T, T)>
void expect_limits_as_interpreted() {
  for (const T a : operands<T>()) {
    const T limits[][3] = {
        {T(0), kMax(a, T(0)), kMin(a, T(0))},
        {T(6), kMax(a, T(6)), kMin(a, T(6))},
        {T(-0.0), kMax(a, T(-0.0)), kMin(a, T(-0.0))},
        {T(__builtin_inf()), kMax(a, T(__builtin_inf())), kMin(a, T(__builtin_inf()))},
        {T(__builtin_nan("")), kMax(a, T(__builtin_nan(""))), kMin(a, T(__builtin_nan("")))}};
    for (const auto& [b, max, min] : limits) {
      EXPECT_TRUE(same(max, loop::apply<T>(ScalarOp::kMax, a, b, T(0)))) << a << ", " << b;
      EXPECT_TRUE(same(min, loop::apply<T>(ScalarOp::kMin, a, b, T(0)))) << a << ", " << b;
    }
  }
}

TEST(PreludeOps, LimitsInTheText) {
  expect_limits_as_interpreted<float, pl_max_f, pl_min_f>();
  expect_limits_as_interpreted<double, pl_max_d, pl_min_d>();
}

TEST(PreludeOps, IntegerDivisionByZeroDoesNotTrap) {
  volatile std::int64_t zero = 0;
  EXPECT_EQ(pl_fdiv_i(7, zero), 0);
  EXPECT_EQ(pl_mod_i(7, zero), 0);
}

bool integers_have(ScalarOp op) {
  try {
    loop::apply_integer(op, 1, 1, 1);
    return true;
  } catch (const Bug&) {
    return false;
  }
}

TEST(PreludeOps, TheTextHasAFunctionForEveryOperation) {
  const std::string_view text = prelude_text();
  for (std::size_t i = static_cast<std::size_t>(ScalarOp::kNeg); i < loop::kScalarInfo.size();
       ++i) {
    const auto op = static_cast<ScalarOp>(i);
    const std::string name = str("pl_", loop::info(op).name, "_");
    EXPECT_NE(text.find("float " + name + "f("), text.npos) << name;
    EXPECT_NE(text.find("double " + name + "d("), text.npos) << name;
    EXPECT_EQ(text.find("int64_t " + name + "i(") != text.npos, integers_have(op)) << name;
  }
  EXPECT_EQ(text.find("#include \""), text.npos);
}

}  // namespace
}  // namespace plait::codegen
