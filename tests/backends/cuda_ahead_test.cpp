// Feeds that are given ahead: while a run goes on, those of the next one are asked for and travel.
#include <gtest/gtest.h>

#include "backends/cuda/target.h"
#include "ir/text.h"
#include "run/session.h"
#include "tests/backends/device_under_test.h"
#include "tests/raises.h"
#include "train/stepper.h"

namespace plait::cuda {
namespace {

// x is large enough to travel beside a run; k goes with it.
constexpr const char* kGraph = R"(symbol n = 1..64
graph train(x: f32[n,512], k: f32[1]) state(
    optim.lr: f32[] as slot = constant(value=1.0),
    w: f32[512] = constant(value=0.0)) {
  %s = mean(x, axes=[0]) : f32[512]
  %t = mul(%s, optim.lr) : f32[512]
  %u = mul(%t, k)        : f32[512]
  %y = add(w, %u)        : f32[512]
  %l = mean(%y, axes=[0]) : f32[]
  next w = %y
  return loss = %l
})";

std::unique_ptr<Session> session() {
  CompileRequest request;
  request.use_cache = false;
  return std::make_unique<Session>(
      ir::parse(kGraph, "g"), make_cuda_target(test::device_under_test(), nullptr, {}), 0, request);
}

/// x and k are the same everywhere: w grows by their product.
Arrays feeds(std::int64_t rows, double x, double k) {
  Arrays out;
  out.emplace("x", Array(DType::f32, {rows, 512}));
  out.emplace("k", Array(DType::f32, {1}));
  for (std::int64_t i = 0; i < rows * 512; ++i) out.at("x").set(i, x);
  out.at("k").set(0, k);
  return out;
}

TEST(CudaAhead, EveryRunFindsItsOwnFeeds) {
  const auto s = session();
  constexpr std::int64_t kRows[] = {64, 64, 64, 32, 64, 64};  // sizes change too
  const auto of = [&](int run) { return feeds(kRows[run], run + 1, run % 2 + 1); };
  Arrays next = of(0);
  double sum = 0;
  for (int run = 0; run < 6; ++run) {
    RunRequest request{"train", std::move(next), {}, run > 0};
    int asked = 0;
    const Arrays got = s->run(request, [&]() -> const Arrays* {
      ++asked;
      if (run == 5) return nullptr;
      next = of(run + 1);
      return &next;
    });
    sum += (run + 1) * (run % 2 + 1);
    EXPECT_EQ(got.at("loss").real(0), sum) << "run " << run;
    EXPECT_EQ(asked, 1);
  }
  EXPECT_EQ(s->state("w").real(511), sum);
}

TEST(CudaAhead, WhoFeedsAnewIsNotGivenTheOld) {
  const auto s = session();
  const Arrays given = feeds(64, 100, 1);
  s->run({"train", feeds(64, 1, 1), {}, false}, [&] { return &given; });
  EXPECT_EQ(s->run({"train", feeds(64, 2, 1), {}, false}).at("loss").real(0), 3);
  EXPECT_EQ(s->run({"train", feeds(64, 3, 1), {}, true}).at("loss").real(0), 6) << "none was given";
}

train::Job job(std::int64_t accumulate) {
  train::Job out;
  out.session = session();
  out.step.graph = "train";
  out.steps = 10;
  out.config.train.accumulate = accumulate;
  out.config.optimizer.lr = 1;
  out.config.schedule.kind = "constant";
  out.config.schedule.warmup_steps = 0;
  return out;
}

/// Batch number i, from 1, is of x = i; behind it, i are read.
struct Counting {
  std::int64_t read = 0, bad = 0;
  train::Position operator()(train::Batch& into) {
    ++read;
    if (read == bad) fail("batch ", read, " cannot be read");
    into.feeds = feeds(64, static_cast<double>(read), 1);
    into.samples = 64;
    return {0, read};
  }
};

TEST(CudaAhead, AStepperReadsOneBatchAhead) {
  train::Job of = job(2);
  train::Stepper stepper(of);
  Counting data;
  const auto next = [&](train::Batch& into) { return data(into); };
  const train::StepResult first = stepper.take(0, next, true);
  EXPECT_EQ(first.loss, (1 + 3) / 2.0);
  EXPECT_EQ(first.behind.index, 2);
  EXPECT_EQ(first.samples, 128);
  EXPECT_EQ(data.read, 3);
  const train::StepResult last = stepper.take(1, next, false);
  EXPECT_EQ(last.loss, (6 + 10) / 2.0);
  EXPECT_EQ(last.behind.index, 4);
  EXPECT_EQ(data.read, 4) << "nothing comes behind the last";
}

TEST(CudaAhead, WhatCannotBeReadIsToldWhenItIsItsTurn) {
  train::Job of = job(1);
  train::Stepper stepper(of);
  Counting data;
  data.bad = 2;
  const auto next = [&](train::Batch& into) { return data(into); };
  EXPECT_EQ(stepper.take(0, next, true).loss, 1);
  EXPECT_EQ(data.read, 2);
  EXPECT_EQ(test::message_of([&] { stepper.take(1, next, true); }), "batch 2 cannot be read");
}

}  // namespace
}  // namespace plait::cuda
