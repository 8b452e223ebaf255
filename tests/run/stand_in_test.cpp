// Values that stand in for initial ones: of the same spread, the same for the same seed.
#include "run/stand_in.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/initializers.h"

namespace plait {
namespace {

ir::State state(const std::string& name, Shape shape, ir::Init how, DType dtype = DType::f32) {
  return {name, {dtype, std::move(shape)}, ir::Role::kParam, std::move(how)};
}

struct Spread {
  double mean, deviation;
};

Spread spread_of(const Array& a) {
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    sum += a.real(i);
    squares += a.real(i) * a.real(i);
  }
  const double mean = sum / static_cast<double>(a.count());
  return {mean, std::sqrt(squares / static_cast<double>(a.count()) - mean * mean)};
}

TEST(StandIn, HasTheSpreadOfTheInitialValue) {
  const std::vector<ir::State> states{
      state("normal", {500, 300}, init::make(init::Normal{.mean = 2, .std = 0.5})),
      state("half", {100000}, init::make(init::Normal{.std = 0.1}), DType::bf16),
      state("xavier", {300, 400}, init::make(init::Xavier{})),
      state("kaiming", {64, 128, 3, 3}, init::make(init::Kaiming{.fan_out = true})),
      state("orthogonal", {600, 200}, init::make(init::Orthogonal{.gain = 2})),
  };
  const Arrays values = stand_in_values(states, 3);
  ASSERT_EQ(values.size(), states.size());
  for (const ir::State& s : states) {
    const Array& got = values.at(s.name);
    const Array initial = initial_value(s, 3);
    EXPECT_EQ(got.dtype(), initial.dtype());
    EXPECT_LT(got.count(), initial.count());
    const Spread mine = spread_of(got), real = spread_of(initial);
    EXPECT_NEAR(mine.mean, real.mean, 0.03 * real.deviation) << s.name;
    EXPECT_NEAR(mine.deviation, real.deviation, 0.03 * real.deviation) << s.name;
    EXPECT_TRUE(got.same_bits(stand_in_values({s}, 3).at(s.name))) << s.name;
  }
}

TEST(StandIn, SmallStatesAndOtherKindsAreWhatTheyAre) {
  const ir::State small = state("w", {20, 30}, init::make(init::Kaiming{}));
  const ir::State ones = state("ones", {100000}, init::ones());
  const ir::State zeros = state("zeros", {100000}, init::zeros());
  const Arrays values = stand_in_values({small, ones, zeros}, 7);
  EXPECT_TRUE(values.at("w").same_bits(initial_value(small, 7)));
  EXPECT_TRUE(values.at("ones").same_bits(initial_value(ones, 7)));
  EXPECT_EQ(values.size(), 2u);
}

}  // namespace
}  // namespace plait
