// Random size expressions against plain integer arithmetic: as built, read back from their text,
// substituted in two steps; and their bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "base/dim.h"
#include "base/error.h"

namespace plait {
namespace {

struct Symbol {
  const char* name;
  std::int64_t lo, hi;
};
constexpr Symbol kSymbols[] = {{"a", 0, 9}, {"b", 1, 7}, {"n", -6, 6}, {"k", 3, 3}};
using Binding = std::map<std::string, std::int64_t>;

std::int64_t floor_quotient(std::int64_t x, std::int64_t y) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(x) / static_cast<double>(y)));
}

/// An expression twice: as a Dim, and as a function of the symbols' values.
struct Pair {
  Dim dim;
  std::function<std::int64_t(const Binding&)> direct;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  Pair leaf() {
    if (below(3) == 0) {
      const std::int64_t c = below(13) - 6;
      return {Dim(c), [c](const Binding&) { return c; }};
    }
    const Symbol& s = kSymbols[below(4)];
    return {Dim::symbol(s.name, s.lo, s.hi), [s](const Binding& at) { return at.at(s.name); }};
  }

  Pair expression(int depth) {
    if (depth == 0) return leaf();
    Pair x = expression(depth - 1), y = expression(below(depth));
    auto f = x.direct, g = y.direct;
    switch (below(7)) {
      case 0:
        return {x.dim + y.dim, [=](const Binding& at) { return f(at) + g(at); }};
      case 1:
        return {x.dim - y.dim, [=](const Binding& at) { return f(at) - g(at); }};
      case 2:
        return {x.dim * y.dim, [=](const Binding& at) { return f(at) * g(at); }};
      case 3:
        return {min(x.dim, y.dim), [=](const Binding& at) { return std::min(f(at), g(at)); }};
      case 4:
        return {max(x.dim, y.dim), [=](const Binding& at) { return std::max(f(at), g(at)); }};
      default:
        return division(x, divisor());
    }
  }

  Binding binding() {
    Binding at;
    for (const Symbol& s : kSymbols) {
      at[s.name] = std::uniform_int_distribution<std::int64_t>(s.lo, s.hi)(random_);
    }
    return at;
  }

 private:
  /// A divisor: a linear expression when it cannot be zero, a number otherwise. (The bounds of
  /// other expressions may widen when symbols are replaced, and with them what may be zero.)
  Pair divisor() {
    const Pair x = leaf(), y = leaf();
    const std::int64_t c = 1 + below(6);
    auto f = x.direct, g = y.direct;
    const Dim sum = x.dim + c * y.dim;
    if (sum.lo() > 0) return {sum, [=](const Binding& at) { return f(at) + c * g(at); }};
    return {Dim(c), [c](const Binding&) { return c; }};
  }

  Pair division(Pair x, Pair y) {
    auto f = x.direct, g = y.direct;
    if (below(2)) {
      return {floordiv(x.dim, y.dim),
              [=](const Binding& at) { return floor_quotient(f(at), g(at)); }};
    }
    return {mod(x.dim, y.dim),
            [=](const Binding& at) { return f(at) - floor_quotient(f(at), g(at)) * g(at); }};
  }

  std::mt19937 random_;
};

Dim resolve(std::string_view name) {
  for (const Symbol& s : kSymbols) {
    if (name == s.name) return Dim::symbol(s.name, s.lo, s.hi);
  }
  fail("unknown symbol ", name);
}

DimBindings dims_of(const Binding& at) { return {at.begin(), at.end()}; }

TEST(DimProperty, AgreesWithIntegerArithmetic) {
  Generator generate(1);
  int symbolic = 0;
  for (int i = 0; i < 4000; ++i) {
    const Pair e = generate.expression(1 + generate.below(4));
    symbolic += !e.dim.is_const();
    std::size_t pos = 0;
    const Dim read = parse_dim(e.dim.text(), pos, resolve);
    ASSERT_EQ(pos, e.dim.text().size()) << e.dim;
    ASSERT_EQ(read, e.dim);
    ASSERT_EQ(read.text(), e.dim.text());
    for (int j = 0; j < 8; ++j) {
      const Binding at = generate.binding();
      const std::int64_t value = e.direct(at);
      ASSERT_EQ(evaluate(e.dim, dims_of(at)), value) << e.dim;
      ASSERT_EQ(evaluate(read, dims_of(at)), value) << e.dim;
      ASSERT_LE(e.dim.lo(), value) << e.dim;
      ASSERT_GE(e.dim.hi(), value) << e.dim;
      Binding some = at, rest;
      rest.insert(some.extract("b"));
      rest.insert(some.extract("n"));
      const Dim partly = e.dim.substitute(dims_of(some));
      ASSERT_EQ(evaluate(partly, dims_of(rest)), value) << e.dim << " by way of " << partly;
    }
  }
  EXPECT_GT(symbolic, 2000) << "most expressions must stay symbolic for this to test anything";
}

TEST(DimProperty, QuotientAndRemainderMakeTheWhole) {
  Generator generate(2);
  for (int i = 0; i < 2000; ++i) {
    const Dim x = generate.expression(2).dim;
    for (const Dim& y : {Dim(1 + generate.below(9)), resolve("b"), resolve("b") * 2 + 1}) {
      const Dim again = floordiv(x, y) * y + mod(x, y);
      const Dim rest = mod(x, y);
      ASSERT_GE(rest.lo(), 0) << rest;
      ASSERT_LT(rest.hi(), y.hi()) << rest;
      for (int j = 0; j < 4; ++j) {
        const DimBindings at = dims_of(generate.binding());
        ASSERT_EQ(evaluate(again, at), evaluate(x, at)) << x << " by " << y;
      }
    }
  }
}

TEST(DimProperty, SumsAndProductsAreARing) {
  Generator generate(3);
  for (int i = 0; i < 1000; ++i) {
    const Dim x = generate.expression(2).dim, y = generate.expression(2).dim,
              z = generate.expression(1).dim;
    ASSERT_EQ(x + y, y + x);
    ASSERT_EQ(x * y, y * x);
    ASSERT_EQ((x + y) + z, x + (y + z));
    ASSERT_EQ((x * y) * z, x * (y * z));
    ASSERT_EQ(x * (y + z), x * y + x * z);
    ASSERT_EQ(x - x, Dim(0));
    ASSERT_EQ(x - y, (y - x) * -1);
  }
}

}  // namespace
}  // namespace plait
