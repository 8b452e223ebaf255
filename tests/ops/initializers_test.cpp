// Initial values: moments of what is drawn, the formulas of what is not, one case per error.
#include "ops/initializers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/philox.h"
#include "tests/raises.h"

namespace plait {
namespace {

using test::message_of;

ir::State state(std::string name, Shape shape, ir::Init how, DType dtype = DType::f64) {
  return {std::move(name), {dtype, std::move(shape)}, ir::Role::kParam, std::move(how)};
}

Array made(Shape shape, ir::Init how, DType dtype = DType::f64, std::uint64_t seed = 1) {
  return initial_value(state("w", std::move(shape), std::move(how), dtype), seed);
}

std::string error_of(Shape shape, ir::Init how, DType dtype = DType::f32) {
  return message_of<UserError>([&] { made(shape, how, dtype); });
}

struct Moments {
  double mean = 0, std = 0, least = INFINITY, most = -INFINITY;
};
Moments moments(const Array& a) {
  Moments m;
  double squares = 0;
  const auto n = static_cast<double>(a.count());
  for (std::int64_t i = 0; i < a.count(); ++i) {
    m.mean += a.real(i) / n;
    squares += a.real(i) * a.real(i) / n;
    m.least = std::min(m.least, a.real(i));
    m.most = std::max(m.most, a.real(i));
  }
  m.std = std::sqrt(squares - m.mean * m.mean);
  return m;
}

/// The largest |q_i . q_j - (i == j) gain^2| over rows, or columns where there are fewer.
double orthogonality_error(const Array& a, double gain) {
  const std::int64_t rows = a.sizes()[0], cols = a.count() / rows;
  const bool tall = rows >= cols;
  const std::int64_t count = tall ? cols : rows, length = tall ? rows : cols;
  auto at = [&](std::int64_t i, std::int64_t e) {
    return tall ? a.real(e * cols + i) : a.real(i * cols + e);
  };
  double worst = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double dot = 0;
      for (std::int64_t e = 0; e < length; ++e) dot += at(i, e) * at(j, e);
      worst = std::max(worst, std::abs(dot - (i == j ? gain * gain : 0)));
    }
  }
  return worst;
}

TEST(Initializers, ConstantsOfEveryDtype) {
  for (std::size_t t = 0; t < kDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    EXPECT_EQ(made({2}, init::zeros(), dtype).real(1), 0) << dtype;
    EXPECT_EQ(made({2}, init::ones(), dtype).real(1), 1) << dtype;
    EXPECT_EQ(made({}, init::make(init::Constant{1}), dtype).real(0), 1) << dtype;
  }
  EXPECT_EQ(made({2}, init::make(init::Constant{-2.5})).real(1), -2.5);
}

TEST(Initializers, NormalHasItsMoments) {
  const Moments m = moments(made({100'000}, init::make(init::Normal{3, 0.5})));
  EXPECT_NEAR(m.mean, 3, 5 * 0.5 / std::sqrt(100'000.0));
  EXPECT_NEAR(m.std, 0.5, 0.01);
}

TEST(Initializers, UniformStaysInItsRange) {
  const Moments m = moments(made({100'000}, init::make(init::Uniform{2, 5})));
  EXPECT_GE(m.least, 2);
  EXPECT_LT(m.most, 5);
  EXPECT_NEAR(m.mean, 3.5, 0.02);
  EXPECT_NEAR(m.std, 3 / std::sqrt(12.0), 0.02);
}

TEST(Initializers, XavierCountsFansAsPyTorch) {
  const Shape conv{40, 20, 3, 5};  // fan_in 20*15, fan_out 40*15
  const double std = std::sqrt(2.0 / (300 + 600));
  EXPECT_NEAR(moments(made(conv, init::make(init::Xavier{}))).std, std, 0.02 * std);
  const Moments uniform = moments(made(conv, init::make(init::Xavier{2, true})));
  EXPECT_NEAR(uniform.std, 2 * std, 0.03 * std);
  EXPECT_NEAR(uniform.most, 2 * std * std::sqrt(3.0), 0.01 * std);
}

TEST(Initializers, KaimingTakesEitherFan) {
  const Shape conv{40, 20, 3, 5};
  const double in = std::sqrt(2.0 / 300), out = std::sqrt(2.0 / 600);
  EXPECT_NEAR(moments(made(conv, init::make(init::Kaiming{}))).std, in, 0.02 * in);
  EXPECT_NEAR(moments(made(conv, init::make(init::Kaiming{.fan_out = true}))).std, out, 0.02 * out);
  const Moments uniform =
      moments(made(conv, init::make(init::Kaiming{.gain = 1, .uniform = true})));
  EXPECT_NEAR(uniform.most, std::sqrt(3.0 / 300), 1e-4);
}

TEST(Initializers, OrthogonalWhateverTheShape) {
  for (const Shape& shape : {Shape{1, 1},
                             {1, 7},
                             {5, 1},
                             {7, 7},
                             {33, 20},
                             {20, 33},
                             {100, 100},
                             {257, 70},
                             {65, 130},
                             {8, 3, 2, 2}}) {
    for (double gain : {1.0, 0.1}) {
      const Array a = made(shape, init::make(init::Orthogonal{gain}));
      EXPECT_LT(orthogonality_error(a, gain), 1e-13) << type_text(a);
    }
  }
  EXPECT_EQ(made({0, 3}, init::make(init::Orthogonal{})).count(), 0);
}

TEST(Initializers, OrthogonalIsQWithAPositiveDiagonalOfR) {
  // The first vector is the first column of draws, scaled by a positive number.
  const Array q = made({6, 4}, init::make(init::Orthogonal{}));
  const RandomKey key{1, 0, fnv1a32("w")};
  const double scale = random_normal(key, 0) / q.real(0);
  EXPECT_GT(scale, 0);
  for (std::int64_t r = 0; r < 6; ++r) {
    EXPECT_NEAR(q.real(r * 4) * scale, random_normal(key, static_cast<std::uint64_t>(r * 4)),
                1e-14);
  }
}

TEST(Initializers, PowerGivesTheTimeDecayOfRwkv) {
  // -5 + 8 (h/(C-1))^(0.7 + 1.3 l/(L-1)) with C = 8, l = 1, L = 3.
  const Array a = made({8}, init::make(init::Power{-5, 8, 7, 0.7 + 1.3 / 2}));
  for (int h = 0; h < 8; ++h) {
    EXPECT_DOUBLE_EQ(a.real(h), -5 + 8 * std::pow(h / 7.0, 0.7 + 1.3 * 1 / 2.0));
  }
}

TEST(Initializers, PowerGivesTheMixesOfRwkv) {
  // mix_v = (i/C)^(1 - l/L) + 0.3 l/(L-1) with C = 4, l = 2, L = 3, in the shape [1,1,C].
  const Array a = made({1, 1, 4}, init::make(init::Power{0.3, 1, 4, 1 - 2.0 / 3}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(a.real(i), std::pow(i / 4.0, 1 - 2.0 / 3) + 0.3 * 2 / 2);
  }
}

TEST(Initializers, CycleGivesTheTimeFirstOfRwkv) {
  // ln 0.3 + 0.5 ((h + 1) mod 3 - 1)
  const double base = std::log(0.3);
  const Array a = made({7}, init::make(init::Cycle{{base, base + 0.5, base - 0.5}}));
  for (int h = 0; h < 7; ++h) EXPECT_DOUBLE_EQ(a.real(h), base + 0.5 * ((h + 1) % 3 - 1));
}

TEST(Initializers, SeedStartsTheCounter) {
  const Array a = initial_value(state("rng", {2}, {"seed", {}}, DType::i64), 42);
  EXPECT_EQ(a.integer(0), 42);
  EXPECT_EQ(a.integer(1), 0);
}

TEST(Initializers, ValuesDependOnSeedAndNameAlone) {
  const ir::Init how = init::make(init::Normal{});
  const Array a = initial_value(state("a", {50}, how), 1);
  EXPECT_TRUE(a.same_bits(initial_value(state("a", {50}, how), 1)));
  EXPECT_FALSE(a.same_bits(initial_value(state("b", {50}, how), 1)));
  EXPECT_FALSE(a.same_bits(initial_value(state("a", {50}, how), 2)));
}

TEST(Initializers, ADtypeRoundsTheSameDraws) {
  const ir::Init how = init::make(init::Normal{});
  EXPECT_TRUE(made({50}, how, DType::f16).same_bits(made({50}, how).cast(DType::f16)));
}

TEST(Initializers, UnknownKind) {
  EXPECT_EQ(error_of({2}, {"xaviar", {}}),
            "initial value of state w (xaviar): there is no such initialiser. Did you mean "
            "'xavier'? There are zeros, ones, constant, normal, uniform, xavier, kaiming, "
            "orthogonal, power, cycle, seed");
}

TEST(Initializers, NumbersThatTheStateCannotHold) {
  ir::State s = state("w", {2}, init::make(init::Constant{0.5}));
  s.type.dtype = DType::i64;
  EXPECT_EQ(test::message_of([&] { initial_value(s, 1); }),
            "initial value of state w (constant): element 0 is 0.5; the state is i64[2], and i64 "
            "holds whole numbers from -9223372036854775808 to 9223372036854775807");
  s.init = init::make(init::Normal{});
  EXPECT_EQ(test::message_of([&] { initial_value(s, 1); }),
            "initial value of state w (normal): draws real numbers; the state is i64[2]");
  s.init = init::make(init::Constant{3});
  EXPECT_EQ(initial_value(s, 1).integer(1), 3);
}

TEST(Initializers, UnknownAttribute) {
  ir::Init how{"normal", {}};
  how.attrs.set("sdt", 0.5);
  EXPECT_EQ(error_of({2}, how),
            "initial value of state w (normal): [normal] has no attribute "
            "'sdt'. Did you mean 'std'?");
}

TEST(Initializers, FansNeedTwoDimensions) {
  for (const char* kind : {"xavier", "kaiming"}) {
    EXPECT_EQ(error_of({3}, {kind, {}}),
              str("initial value of state w (", kind,
                  "): needs (out, in, ...), at least two dimensions; the state is f32[3]"));
  }
}

TEST(Initializers, OrthogonalNeedsTwoDimensions) {
  EXPECT_EQ(error_of({3}, {"orthogonal", {}}),
            "initial value of state w (orthogonal): needs a matrix, at least two dimensions; the "
            "state is f32[3]");
}

TEST(Initializers, CycleNeedsAValue) {
  EXPECT_EQ(error_of({3}, init::make(init::Cycle{{}})),
            "initial value of state w (cycle): needs at least one value");
}

TEST(Initializers, SeedNeedsItsType) {
  EXPECT_EQ(error_of({3}, {"seed", {}}),
            "initial value of state w (seed): needs i64[2], for (seed, step); the state is f32[3]");
}

TEST(Initializers, SizesMustBeNumbers) {
  EXPECT_TRUE(error_of({Dim::symbol("batch", 1, 8)}, init::zeros())
                  .starts_with("initial value of state w (zeros): "));
}

}  // namespace
}  // namespace plait
