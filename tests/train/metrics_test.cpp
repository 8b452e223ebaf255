// Records, their lines, smoothing, rates, and how a resumed run's file is cut back.
#include "train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "io/file.h"
#include "tests/raises.h"
#include "tests/temporary.h"
#include "tests/train/faulty_disk.h"
#include "tests/train/tensors.h"
#include "train/run_folder.h"

namespace plait::train {
namespace {

using test::message_of;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Record at(std::int64_t step) {
  Record r;
  r.step = step;
  r.loss = 10.0 / static_cast<double>(step + 1);
  r.lr = 8e-4;
  return r;
}

TEST(Metrics, ALineHasWhatWasMeasured) {
  Record r = at(100);
  r.loss = 2.5;
  r.smoothed_loss = 2.75;
  r.smoothing = Smoothed::kConstant;
  r.memory_bytes = 12'345'678'901;
  r.mfu = 0.25;
  EXPECT_EQ(record_line(r),
            R"({"step":100,"loss":2.5,"smoothed_loss":2.75,"smoothing":0.98,"lr":0.0008,)"
            R"("mfu":0.25,"memory_bytes":12345678901})");
  EXPECT_EQ(record_line(Record{}), R"({"step":0})");
}

TEST(Metrics, RandomRecordsComeBack) {
  test::Draws draws(3);
  for (int trial = 0; trial < 200; ++trial) {
    Record r;
    r.step = draws.below(1'000'000'000);
    for (const RecordField& field : record_fields()) {
      if (draws.below(2)) continue;
      const double any = std::ldexp(double(draws.bits() >> 11), int(draws.below(200)) - 150);
      r.*field.value = field.kind == RecordField::whole ? double(draws.below(1LL << 50)) : any;
    }
    ASSERT_EQ(parse_record(record_line(r)), r) << record_line(r);
  }
}

TEST(Metrics, LossesThatAreNoNumbers) {
  Record r = at(1);
  r.loss = kInfinity;
  r.eval_loss = -kInfinity;
  EXPECT_EQ(record_line(r), R"({"step":1,"loss":"inf","lr":0.0008,"eval_loss":"-inf"})");
  EXPECT_EQ(parse_record(record_line(r)), r);
  r.loss = std::nan("");
  EXPECT_TRUE(std::isnan(*parse_record(record_line(r)).loss));
}

TEST(Metrics, WhatIsNoRecord) {
  for (const char* text : {"", "{", "[]", "{}", R"({"step":"x"})", R"({"step":1.5})"}) {
    EXPECT_THROW(parse_record(text), UserError) << text;
  }
  EXPECT_EQ(message_of<UserError>([] { parse_record(R"({"step":1,"loss":[]})"); }),
            "metrics: loss is a list, not a number");
}

// Printing such a value called itself at each bracket, until the stack was full.
TEST(Metrics, DeepLinesAreDropped) {
  const test::TemporaryFolder folder;
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  const std::string path = folder / kMetricsFile;
  const std::string good = record_line(at(1)) + "\n";
  io::write_file(path, {good, "{\"step\":2,\"loss\":", deep, "}\n"});
  EXPECT_EQ(read_metrics(path), std::vector<Record>{at(1)});
  std::vector<std::string> notes;
  EXPECT_EQ(rewind_metrics(path, 5, notes).size(), 1u);
  EXPECT_EQ(notes, std::vector<std::string>{"dropped 1 cut or unreadable lines of " + path});
  EXPECT_EQ(io::read_file(path), good);
}

TEST(Metrics, SmoothingIsTheWeightedMean) {
  Smoothed s;
  EXPECT_EQ(s.value(), 0);
  s.add(5);
  EXPECT_DOUBLE_EQ(s.value(), 5);  // the first value counts in full
  std::vector<double> values{5};
  for (int i = 1; i < 300; ++i) {
    values.push_back(std::sin(i));
    s.add(values.back());
    double sum = 0, weight = 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double w = std::pow(Smoothed::kConstant, double(values.size() - 1 - k));
      sum += w * values[k];
      weight += w;
    }
    ASSERT_NEAR(s.value(), sum / weight, 1e-12);
  }
  const double before = s.value();
  s.add(std::nan(""));
  s.add(kInfinity);
  EXPECT_EQ(s.value(), before);
}

TEST(Metrics, Rates) {
  Throughput t(3e9, 1e11);
  t.start(10);
  for (int i = 0; i < 4; ++i) t.add_step(8, 1024);
  t.leave_out(2);
  Record r;
  t.fill(r, 14);  // two seconds of work
  EXPECT_DOUBLE_EQ(*r.samples_per_second, 16);
  EXPECT_DOUBLE_EQ(*r.tokens_per_second, 2048);
  EXPECT_DOUBLE_EQ(*r.mfu, 0.06);
  Record none;
  t.fill(none, 15);
  EXPECT_FALSE(none.samples_per_second || none.mfu);
  Throughput unknown(0, 0);
  unknown.start(0);
  unknown.add_step(1, 0);
  unknown.fill(none, 2);
  EXPECT_DOUBLE_EQ(*none.samples_per_second, 0.5);
  EXPECT_FALSE(none.tokens_per_second || none.mfu);
}

std::string log_steps(const std::string& run, std::int64_t from, std::int64_t to, double wall) {
  Metrics metrics(run, from, wall);
  for (std::int64_t step = from + 1; step <= to; ++step) metrics.log(at(step), wall);
  metrics.sync();
  return run + "/" + kMetricsFile;
}

TEST(Metrics, AResumedFileEqualsAnUninterruptedOne) {
  const test::TemporaryFolder whole, stopped;
  const std::string expected = io::read_file(log_steps(whole.path(), 0, 20, 1));
  const std::string path = log_steps(stopped.path(), 0, 13, 1);
  for (const std::string& tail : {std::string(), std::string("{\"step\":14,\"lo"),
                                  std::string("\0\0\0\0", 4), std::string("{\"step\":9}")}) {
    std::ofstream(path, std::ios::app) << tail;
    std::vector<std::string> notes;
    const std::vector<Record> kept = rewind_metrics(path, 10, notes);
    ASSERT_EQ(kept.size(), 10u);
    EXPECT_EQ(kept.back(), at(10));
    if (tail.empty()) {
      EXPECT_TRUE(notes.empty());
    } else {
      ASSERT_EQ(notes.size(), 1u);
      EXPECT_EQ(notes[0], "dropped 1 cut or unreadable lines of " + path);
    }
    EXPECT_EQ(read_metrics(path), kept);
    log_steps(stopped.path(), 10, 20, 2);
    EXPECT_EQ(io::read_file(path), expected);
  }
}

TEST(Metrics, NothingToRewind) {
  const test::TemporaryFolder run;
  std::vector<std::string> notes;
  EXPECT_TRUE(rewind_metrics(run / "metrics.jsonl", 5, notes).empty());
  EXPECT_FALSE(std::filesystem::exists(run / "metrics.jsonl"));
}

TEST(Metrics, TimingsAreNamed) {
  Record a = at(3), b = at(3);
  a.elapsed_seconds = 1;
  a.samples_per_second = 2;
  a.tokens_per_second = 3;
  a.mfu = 4;
  EXPECT_NE(a, b);
  EXPECT_EQ(without_timings(a), b);
  b.loss = 0;
  EXPECT_NE(without_timings(a), without_timings(b));
}

TEST(Metrics, AFullDevice) {
  const test::TemporaryFolder run;
  const std::string path = run / "metrics.jsonl";
  test::FaultyDisk disk(3, ENOSPC);  // behind two files that are opened and what events begin with
  disk.spare_removals();
  Metrics metrics(run.path(), 0, 1, disk);
  EXPECT_EQ(message_of<RunError>([&] { metrics.log(at(1), 1); }),
            "cannot write " + path + ": No space left on device");
}

TEST(Metrics, ATornLineIsTakenBack) {
  test::FaultyDisk counts;
  const test::TemporaryFolder first;
  const Metrics opened(first.path(), 0, 1, counts);
  const int opening = counts.operations();
  const test::TemporaryFolder run;
  test::FaultyDisk disk(opening + 2, ENOSPC);  // the second line
  disk.fail_once();
  Metrics metrics(run.path(), 0, 1, disk);
  metrics.log(at(1), 1);
  EXPECT_THROW(metrics.log(at(2), 1), RunError);
  EXPECT_EQ(read_metrics(run / "metrics.jsonl").size(), 1u);
  metrics.log(at(3), 1);
  EXPECT_EQ(io::read_file(run / "metrics.jsonl"),
            record_line(at(1)) + "\n" + record_line(at(3)) + "\n");
}

}  // namespace
}  // namespace plait::train
