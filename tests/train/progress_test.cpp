// Progress lines: what they say, how they are cut, when they are drawn. The clock is the test's.
#include "train/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace plait::train {
namespace {

Record full(std::int64_t step) {
  Record r;
  r.step = step;
  r.loss = 2.34567;
  r.smoothed_loss = 2.4;
  r.lr = 8e-4;
  r.samples_per_second = 1234.4;
  r.tokens_per_second = 158003;
  r.mfu = 0.1234;
  r.memory_bytes = 412.34e6;
  return r;
}

TEST(Progress, ALineSaysAll) {
  EXPECT_EQ(progress_line(full(120), 2000, 200, 1000),
            "step 120/2000  loss 2.3457 (smoothed 2.4000)  eta 3m20s  1,234 samples/s  "
            "158,003 tokens/s  MFU 12.3%  lr 0.0008  412.3 MB");
  Record eval;
  eval.step = 5;
  eval.eval_loss = 1.5;
  eval.eval_perplexity = 4.4817;
  eval.eval_accuracy = 0.5;
  eval.memory_bytes = 3.21e9;
  EXPECT_EQ(progress_line(eval, 9, -1, 1000),
            "step 5/9  eval loss 1.5000  eval perplexity 4.482  eval accuracy 50.00%  3.21 GB");
}

TEST(Progress, WhatDoesNotFitIsLeftOut) {
  const std::string whole = progress_line(full(120), 2000, 200, 1000);
  for (int columns = 0; columns <= 130; ++columns) {
    const std::string line = progress_line(full(120), 2000, 200, columns);
    ASSERT_LE(line.size(), static_cast<std::size_t>(columns));
    ASSERT_TRUE(whole.starts_with(line));
  }
  EXPECT_EQ(progress_line(full(120), 2000, 200, 60),
            "step 120/2000  loss 2.3457 (smoothed 2.4000)  eta 3m20s");
  EXPECT_EQ(progress_line(full(120), 2000, 200, 6), "step 1");
}

TEST(Progress, Spans) {
  EXPECT_EQ(span_text(0.2), "0s");
  EXPECT_EQ(span_text(59.4), "59s");
  EXPECT_EQ(span_text(59.6), "1m00s");
  EXPECT_EQ(span_text(247), "4m07s");
  EXPECT_EQ(span_text(7500), "2h05m");
  EXPECT_EQ(span_text(3 * 86400 + 4 * 3600), "3d04h");
  EXPECT_EQ(span_text(1e300), "forever");
}

struct Drawn : ::testing::Test {
  Progress::Place place(bool redraws, int columns = 200) {
    return {[this](std::string_view text) { out += text; }, [this] { return now; }, redraws,
            [columns] { return columns; }};
  }
  static Record at(std::int64_t step) {
    Record r;
    r.step = step;
    return r;
  }
  std::string out;
  double now = 100;
};

TEST_F(Drawn, PlainLinesOnlyAtLogs) {
  {
    Progress progress(place(false), 0, 4);
    for (int step = 1; step <= 4; ++step) {
      now += step == 1 ? 50 : 2;  // the first step compiles
      progress.step_done(at(step), step % 2 == 0);
    }
    progress.note("saved");
  }
  EXPECT_EQ(out, "step 2/4  eta 4s\nstep 4/4  eta 0s\nsaved\n");
}

TEST_F(Drawn, ATerminalsLineIsRedrawn) {
  {
    Progress progress(place(true), 0, 100);
    progress.step_done(at(1), false);
    now += 0.01;
    progress.step_done(at(2), true);  // too soon to be read
    now += 1.99;
    progress.step_done(at(3), false);
    progress.note("saved");
    now += 1;
    progress.step_done(at(4), false);
  }
  EXPECT_EQ(out,
            "\r\x1b[Kstep 1/100"
            "\r\x1b[Kstep 3/100  eta 1m37s"
            "\r\x1b[Ksaved\n"
            "\r\x1b[Kstep 4/100  eta 1m36s\n");
}

TEST_F(Drawn, TheLastStepIsAlwaysShownAndEndsItsLine) {
  {
    Progress progress(place(true), 0, 2);
    progress.step_done(at(1), false);
    progress.step_done(at(2), false);
  }
  EXPECT_EQ(out, "\r\x1b[Kstep 1/2\r\x1b[Kstep 2/2  eta 0s\n");
}

TEST_F(Drawn, AResumedRunsPaceIsItsOwn) {
  Progress progress(place(false), 1000, 2000);
  EXPECT_LT(progress.seconds_left(), 0);
  now += 5;
  progress.step_done(at(1001), false);
  EXPECT_LT(progress.seconds_left(), 0);
  now += 1;
  progress.step_done(at(1002), false);
  EXPECT_DOUBLE_EQ(progress.seconds_left(), 998);
}

TEST_F(Drawn, TheWidthIsTheTerminals) {
  Progress progress(place(true, 12), 0, 2000);
  progress.step_done(full(120), false);
  EXPECT_EQ(out, "\r\x1b[Kstep 120/20");
}

TEST(Progress, AFileHasTheUsualWidth) {
  const int file = ::open("/dev/null", O_WRONLY);
  EXPECT_EQ(terminal_columns(file), 80);
  ::close(file);
}

}  // namespace
}  // namespace plait::train
