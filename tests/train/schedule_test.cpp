// The learning rate of every step: closed forms, and the recurrences that PyTorch steps through.
#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace plait::train {
namespace {

using Schedule = Config::Schedule;

void expect_near(double got, double wanted, std::int64_t step) {
  EXPECT_NEAR(got, wanted, 1e-12 * std::abs(wanted) + 1e-18) << "step " << step;
}

TEST(Schedule, ConstantIsConstant) {
  for (std::int64_t t : {0, 1, 99, 100000}) EXPECT_EQ(learning_rate(Schedule{}, 0.3, 100, t), 0.3);
}

TEST(Schedule, WarmsUpInAStraightLineBeforeEveryKind) {
  for (const char* kind : {"constant", "step", "cosine", "linear", "polynomial"}) {
    const Schedule s{.kind = kind, .warmup_steps = 10, .warmup_from = 0.2};
    for (std::int64_t t = 0; t < 10; ++t) {
      const auto done = static_cast<double>(t) / 10;
      expect_near(learning_rate(s, 0.5, 100, t), 0.5 * 0.2 * (1 - done) + 0.5 * done, t);
    }
    EXPECT_EQ(learning_rate(s, 0.5, 100, 10), 0.5) << kind;  // the curve starts at its top
  }
  const Schedule from_zero{.warmup_steps = 4};
  EXPECT_EQ(learning_rate(from_zero, 1, 100, 0), 0);
  EXPECT_EQ(learning_rate(from_zero, 1, 100, 3), 0.75);
}

TEST(Schedule, LinearLrRecurrenceOfPyTorch) {
  // torch.optim.lr_scheduler.LinearLR(start_factor, end_factor = 1, total_iters)
  const double from = 0.25;
  const std::int64_t total = 8;
  const Schedule s{.warmup_steps = total, .warmup_from = from};
  double lr = 0.1 * from;
  for (std::int64_t t = 0; t < 12; ++t) {
    expect_near(learning_rate(s, 0.1, 100, t), lr, t);
    const auto next = static_cast<double>(t + 1);
    if (t + 1 <= total) lr *= 1 + (1 - from) / (total * from + (next - 1) * (1 - from));
  }
}

TEST(Schedule, StepLrRecurrenceOfPyTorch) {
  const Schedule s{.kind = "step", .warmup_steps = 5, .step_every = 3, .gamma = 0.5};
  double lr = 0.8;
  for (std::int64_t t = 5; t < 40; ++t) {
    if (t > 5 && (t - 5) % 3 == 0) lr *= 0.5;
    expect_near(learning_rate(s, 0.8, 40, t), lr, t);
  }
}

TEST(Schedule, CosineAnnealingLrRecurrenceOfPyTorch) {
  const double pi = std::numbers::pi, lowest = 1e-3;
  const Schedule s{.kind = "cosine", .min_lr = lowest};
  const std::int64_t total = 50;
  double lr = 0.1;
  for (std::int64_t t = 0; t < total; ++t) {
    EXPECT_NEAR(learning_rate(s, 0.1, total, t), lr, 1e-14) << "step " << t;
    const auto now = static_cast<double>(t);
    lr = (1 + std::cos(pi * (now + 1) / total)) / (1 + std::cos(pi * now / total)) * (lr - lowest) +
         lowest;
  }
  EXPECT_NEAR(learning_rate(s, 0.1, total, 25), (0.1 + lowest) / 2, 1e-15);
  EXPECT_EQ(learning_rate(s, 0.1, total, total), lowest);
  EXPECT_EQ(learning_rate(s, 0.1, total, 10 * total), lowest);
}

TEST(Schedule, PolynomialLrRecurrenceOfPyTorch) {
  const Schedule s{.kind = "polynomial", .power = 2.5};
  const std::int64_t total = 20;
  double lr = 0.1;
  for (std::int64_t t = 0; t < total; ++t) {
    EXPECT_NEAR(learning_rate(s, 0.1, total, t), lr, 1e-15) << "step " << t;
    const auto now = static_cast<double>(t);
    lr *= std::pow((1 - (now + 1) / total) / (1 - now / total), 2.5);
  }
  EXPECT_EQ(learning_rate(s, 0.1, total, total), 0);
}

TEST(Schedule, LinearIsThePolynomialOfPowerOne) {
  const Schedule linear{.kind = "linear", .warmup_steps = 7, .min_lr = 0.01};
  const Schedule polynomial{.kind = "polynomial", .warmup_steps = 7, .min_lr = 0.01, .power = 1};
  for (std::int64_t t = 0; t < 60; ++t) {
    EXPECT_EQ(learning_rate(linear, 0.1, 50, t), learning_rate(polynomial, 0.1, 50, t));
  }
  expect_near(learning_rate(linear, 0.1, 50, 7), 0.1, 7);
  expect_near(learning_rate(linear, 0.1, 50, 28), 0.1 - 0.09 * 21 / 43, 28);
  expect_near(learning_rate(linear, 0.1, 50, 50), 0.01, 50);
}

TEST(Schedule, CurveEndsAfterDecaySteps) {
  for (const char* kind : {"cosine", "linear", "polynomial"}) {
    const Schedule s{.kind = kind, .warmup_steps = 2, .min_lr = 0.01, .decay_steps = 10};
    EXPECT_GT(learning_rate(s, 0.1, 100, 11), 0.01) << kind;
    EXPECT_EQ(learning_rate(s, 0.1, 100, 12), 0.01) << kind;
    EXPECT_EQ(learning_rate(s, 0.1, 100, 99), 0.01) << kind;
  }
}

TEST(Schedule, NeverLeavesItsBoundsNorRisesAfterTheWarmUp) {
  for (const char* kind : {"constant", "step", "cosine", "linear", "polynomial"}) {
    const Schedule s{.kind = kind,
                     .warmup_steps = 30,
                     .step_every = 17,
                     .gamma = 0.7,
                     .min_lr = kind == std::string("step") ? 0 : 0.02,
                     .power = 0.5};
    double before = 0.1;
    for (std::int64_t t = 30; t < 300; ++t) {
      const double lr = learning_rate(s, 0.1, 200, t);
      EXPECT_LE(lr, before) << kind << " step " << t;
      EXPECT_GE(lr, kind == std::string("step") ? 0 : 0.02) << kind << " step " << t;
      before = lr;
    }
  }
}

TEST(Schedule, WarmUpLongerThanTheRunIsCutOff) {
  const Schedule s{.kind = "cosine", .warmup_steps = 100};
  expect_near(learning_rate(s, 0.1, 10, 9), 0.1 * 0.09, 9);
  EXPECT_EQ(learning_rate(s, 0.1, 10, 100), 0);
}

}  // namespace
}  // namespace plait::train
