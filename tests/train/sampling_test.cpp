// Drawing tokens: the distribution they have, what top-p and top-k leave, and that the same call
// always gives the same token.
#include "train/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/raises.h"

namespace plait::train {
namespace {

using test::message_of;
using Logits = std::vector<float>;

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<std::int64_t> tokens(const std::vector<Candidate>& all) {
  std::vector<std::int64_t> out;
  for (const Candidate& c : all) out.push_back(c.token);
  return out;
}

Logits logs(const std::vector<double>& probabilities) {
  Logits out;
  for (const double p : probabilities) out.push_back(static_cast<float>(std::log(p)));
  return out;
}

/// Sum of (drawn - expected)^2 / expected over the tokens that can be drawn.
double chi_square(const Logits& logits, const Sampling& sampling, int draws) {
  std::vector<double> drawn(logits.size());
  for (int i = 0; i < draws; ++i) {
    ++drawn[static_cast<std::size_t>(draw(logits, sampling, static_cast<std::uint64_t>(i)))];
  }
  double sum = 0, seen = 0;
  for (const Candidate& c : candidates(logits, sampling)) {
    const double expected = c.probability * draws;
    const double count = drawn[static_cast<std::size_t>(c.token)];
    sum += (count - expected) * (count - expected) / expected;
    seen += count;
  }
  EXPECT_EQ(seen, draws) << "a token was drawn that is no candidate";
  return sum;
}

TEST(Sampling, ProbabilitiesAreTheSoftmax) {
  const std::vector<Candidate> all = candidates(Logits{0, 1, 3}, {.temperature = 2});
  const double total = 1 + std::exp(0.5) + std::exp(1.5);
  ASSERT_EQ(tokens(all), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_NEAR(all[0].probability, 1 / total, 1e-15);
  EXPECT_NEAR(all[1].probability, std::exp(0.5) / total, 1e-15);
  EXPECT_NEAR(all[2].probability, std::exp(1.5) / total, 1e-15);
}

// Of 7 degrees of freedom: 24.3 is passed once in a thousand; a generator that repeats or leans is
// far beyond or, drawing too evenly, near 0 (0.6: once in a thousand).
TEST(Sampling, DrawsAsTheProbabilitiesSay) {
  const Logits logits = logs({0.3, 0.02, 0.2, 0.08, 0.15, 0.05, 0.1, 0.1});
  for (const double temperature : {0.5, 1.0, 3.0}) {
    const double x = chi_square(logits, {.temperature = temperature, .seed = 11}, 40000);
    EXPECT_LT(x, 24.3) << temperature;
    EXPECT_GT(x, 0.6) << temperature;
  }
}

TEST(Sampling, DrawsTheNucleusAsItsProbabilitiesSay) {
  const Logits logits = logs({0.3, 0.02, 0.2, 0.08, 0.15, 0.05, 0.1, 0.1});
  const Sampling sampling{.top_p = 0.7, .seed = 5};  // 0.3, 0.2, 0.15 and the first 0.1
  ASSERT_EQ(tokens(candidates(logits, sampling)), (std::vector<std::int64_t>{0, 2, 4, 6}));
  EXPECT_LT(chi_square(logits, sampling, 20000), 16.3);  // 3 degrees of freedom
}

TEST(Sampling, TheSameCallGivesTheSameToken) {
  const Logits logits = logs(std::vector<double>(50, 0.02));
  int other_position = 0, other_seed = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::int64_t token = draw(logits, {.seed = 1}, i);
    EXPECT_EQ(draw(logits, {.seed = 1}, i), token);
    other_position += draw(logits, {.seed = 1}, i + 1000) != token;
    other_seed += draw(logits, {.seed = 2}, i) != token;
  }
  EXPECT_GT(other_position, 180);
  EXPECT_GT(other_seed, 180);
}

TEST(Sampling, TemperatureZeroTakesTheFirstOfTheLikeliest) {
  const Logits logits{1, 4, -kInf, 4, 3.9f};
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(draw(logits, {.temperature = 0, .top_p = 0.1, .seed = i}, i), 1);
  }
}

TEST(Sampling, ColdestAndHottest) {
  const Logits logits{-80, 2, 2.5f, 80};
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(draw(logits, {.temperature = 1e-300}, i), 3);  // no NaN from 0 * infinity
  }
  for (const Candidate& c : candidates(logits, {.temperature = 1e300})) {
    EXPECT_NEAR(c.probability, 0.25, 1e-12);
  }
}

TEST(Sampling, TopP) {
  const Logits logits{0, 2, 2, 1};  // 0.06, 0.39, 0.39, 0.14
  const auto left = [&](double p) { return tokens(candidates(logits, {.top_p = p})); };
  EXPECT_EQ(left(1e-9), (std::vector<std::int64_t>{1}));  // never none
  EXPECT_EQ(left(0.39), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(left(0.40), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(left(0.80), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(left(0.999), (std::vector<std::int64_t>{1, 2, 3, 0}));
  EXPECT_EQ(left(1), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_NEAR(candidates(logits, {.top_p = 0.5})[1].probability, 0.5, 1e-12);
  // Exactly half each: the first is enough.
  EXPECT_EQ(tokens(candidates(Logits{0, 0}, {.top_p = 0.5})), (std::vector<std::int64_t>{0}));
}

TEST(Sampling, TopK) {
  const Logits logits{0, 2, 2, 1};
  const auto left = [&](std::int64_t k, double p = 1) {
    return tokens(candidates(logits, {.top_p = p, .top_k = k}));
  };
  EXPECT_EQ(left(1), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(left(3), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(left(4), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(left(99), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(left(2, 0.45), (std::vector<std::int64_t>{1}));  // top_p of what top_k left
}

TEST(Sampling, ImpossibleTokensAreNeverDrawn) {
  const Logits logits{-kInf, 0, -kInf, -1000, -kInf};
  for (std::uint64_t i = 0; i < 500; ++i) EXPECT_EQ(draw(logits, {}, i), 1);
}

TEST(Sampling, Errors) {
  const auto refused = [](const Sampling& s) {
    return message_of([&] { draw(Logits{0, 1}, s, 0); });
  };
  EXPECT_EQ(refused({.temperature = -1}), "temperature must be 0 or above, is -1");
  EXPECT_EQ(refused({.temperature = std::nan("")}), "temperature must be 0 or above, is nan");
  EXPECT_EQ(refused({.top_p = 0}), "top-p must be above 0 and at most 1, is 0");
  EXPECT_EQ(refused({.top_p = 1.5}), "top-p must be above 0 and at most 1, is 1.5");
  EXPECT_EQ(refused({.top_k = -2}), "top-k must be 0 (any) or above, is -2");

  const auto failed = [](const Logits& logits) {
    return message_of<RunError>([&] { draw(logits, {}, 0); });
  };
  EXPECT_EQ(failed({0, std::nanf("")}),
            "the model's logit of token 1 is nan: its weights are no longer finite, or too large");
  EXPECT_EQ(failed({kInf, 0}),
            "the model's logit of token 0 is inf: its weights are no longer finite, or too large");
  EXPECT_EQ(failed({-kInf, -kInf}), "all logits of the model are -inf");
  EXPECT_EQ(failed({}), "the model gives no logits to draw from");
}

}  // namespace
}  // namespace plait::train
