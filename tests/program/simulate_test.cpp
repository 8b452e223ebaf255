// The simulator against brute force over small random schedules: who lives when by asking of every
// step and piece, times by stepping from one event to the next.
#include "program/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/program/small_program.h"

namespace plait::program {
namespace {

Schedule random_schedule(std::mt19937& draw) {
  const auto below = [&](int n) { return static_cast<int>(draw() % static_cast<unsigned>(n)); };
  Schedule s;
  s.streams = 1 + below(3);
  s.step_seconds = below(3);
  for (int p = 1 + below(8); p > 0; --p)
    s.pieces.push_back({below(5) * 64, below(4) == 0, below(4) == 0});
  for (int i = below(12); i > 0; --i) {
    Schedule::Step step;
    for (auto* list : {&step.reads, &step.writes}) {
      for (int n = below(3); n > 0; --n) {
        list->push_back(static_cast<std::size_t>(below(static_cast<int>(s.pieces.size()))));
      }
    }
    step.seconds = below(5);
    step.stream = below(s.streams);
    for (std::size_t w = 0; w < s.steps.size(); ++w) {
      if (s.steps[w].stream != step.stream && below(4) == 0) step.waits.emplace_back(w);
    }
    s.steps.push_back(std::move(step));
  }
  return s;
}

/// Whether a piece is needed at a step: by then it was written or fed, and it is touched there or
/// later, or fetched.
bool is_needed(const Schedule& s, std::size_t piece, int step) {
  const auto touches = [&](const Schedule::Step& x) {
    return std::count(x.reads.begin(), x.reads.end(), piece) > 0 ||
           std::count(x.writes.begin(), x.writes.end(), piece) > 0;
  };
  const int end = std::max(0, static_cast<int>(s.steps.size()) - 1);
  bool before = s.pieces[piece].fed, after = s.pieces[piece].fetched;
  bool touched = false;
  for (int i = 0; i < static_cast<int>(s.steps.size()); ++i) {
    if (!touches(s.steps[static_cast<std::size_t>(i)])) continue;
    touched = true;
    before = before || i <= step;
    after = after || i >= step;
  }
  if (!touched)
    return (s.pieces[piece].fed && step == 0) ||
           (s.pieces[piece].fetched && (step == end || s.pieces[piece].fed));
  if (s.pieces[piece].fed && !s.pieces[piece].fetched && step == 0) return true;
  return before && after;
}

TEST(Simulate, MemoryIsThatOfBruteForce) {
  std::mt19937 draw(11);
  for (int round = 0; round < 2000; ++round) {
    const Schedule s = random_schedule(draw);
    const Occupancy found = occupancy_of(s);
    std::int64_t peak = 0;
    const int steps = std::max(1, static_cast<int>(s.steps.size()));
    ASSERT_EQ(found.live.size(), static_cast<std::size_t>(steps));
    for (int i = 0; i < steps; ++i) {
      std::int64_t live = 0;
      for (std::size_t p = 0; p < s.pieces.size(); ++p) {
        if (is_needed(s, p, i)) live += s.pieces[p].bytes;
      }
      EXPECT_EQ(found.live[static_cast<std::size_t>(i)], live)
          << "round " << round << ", step " << i;
      peak = std::max(peak, live);
    }
    EXPECT_EQ(found.peak_bytes, peak);
    if (peak > 0) EXPECT_EQ(found.live[static_cast<std::size_t>(found.peak_step)], peak);
  }
}

/// One event after the other: a step ends, or a stream takes its next step.
double slow_seconds(const Schedule& s) {
  const std::size_t count = s.steps.size();
  std::vector<double> end(count, -1);
  std::size_t done = 0;
  double now = 0, last = 0, work = 0;
  std::vector<bool> running(count, false);
  for (const Schedule::Step& step : s.steps) work += step.seconds;
  while (done < count) {
    bool began = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (running[i]) continue;
      bool ready = true;
      for (std::size_t j = 0; j < i; ++j) {
        const bool same = s.steps[j].stream == s.steps[i].stream;
        const bool waited = std::count(s.steps[i].waits.begin(), s.steps[i].waits.end(), StepId(j));
        if ((same || waited) && !(running[j] && end[j] <= now)) ready = false;
      }
      if (!ready) continue;
      running[i] = began = true;
      ++done;
      end[i] = now + s.step_seconds + s.steps[i].seconds;
      last = std::max(last, end[i]);
    }
    if (began) continue;
    double next = 1e300;
    for (std::size_t i = 0; i < count; ++i) {
      if (running[i] && end[i] > now) next = std::min(next, end[i]);
    }
    now = next;
  }
  return std::max(last, work);
}

TEST(Simulate, TimeIsThatOfEventsOneByOne) {
  std::mt19937 draw(12);
  for (int round = 0; round < 2000; ++round) {
    const Schedule s = random_schedule(draw);
    const Times found = times_of(s);
    EXPECT_DOUBLE_EQ(found.seconds, slow_seconds(s)) << "round " << round;
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      EXPECT_DOUBLE_EQ(found.end[i] - found.begin[i], s.step_seconds + s.steps[i].seconds);
    }
  }
}

TEST(Simulate, AProgramOfOneFunctionIsOneLaunch) {
  Schedule s;
  s.steps.resize(3);
  for (Schedule::Step& step : s.steps) step.seconds = 2;
  s.step_seconds = 10;
  EXPECT_EQ(times_of(s).seconds, 36);
  s.step_seconds = 1;
  s.launch_seconds = 10;
  EXPECT_EQ(times_of(s).seconds, 19);
}

TEST(Simulate, OfAProgramTheArenaCounts) {
  Program p = small_program();
  p.device.step_seconds = 1;
  p.steps[1].seconds = 0.5;
  const Schedule s = schedule_of(p);
  const Occupancy found = occupancy_of(s);
  EXPECT_EQ(found.live, (std::vector<std::int64_t>{64, 128, 128}));
  EXPECT_EQ(found.peak_step, 1);
  EXPECT_EQ(predicted_seconds(p), 3.5);
  p.single_kernel = true;
  p.device.meeting_seconds = 0.25;
  EXPECT_EQ(predicted_seconds(p), 2.25);
}

}  // namespace
}  // namespace plait::program
