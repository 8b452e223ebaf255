// plait bench FILE: how long a program takes.
#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/json.h"
#include "cli/ready.h"
#include "cli/summary.h"
#include "cli/timing.h"

namespace plait::cli {
namespace {

constexpr Flag kBenchFlags[] = {
    {"--seconds", "S", "how long to time; 3 unless said"},
    {"--row", "N", "on cuda: runs in one launch or replay, on the same feeds; 1 unless said"},
    kTargetFlag,
    kDeviceFlag,
    kFp32Flag,
    kFastFlag,
    kThreadsFlag,
    kMeasureFlag,
    kTrustFlag,
    kNoFuseFlag,
    kSliceFlag,
    kSeedFlag,
    kGraphFlag,
    kSetFlag,
    kJsonFlag,
};

constexpr int kMostInARow = 1 << 16;
constexpr int kWarmUps = 3, kLeastRuns = 5, kBatch = 100;
constexpr int kLeastFollowing = 2, kMostFollowing = 10;  // runs without a wait between them
constexpr double kFollowing = 20e-3;                     // seconds of them
constexpr double kShort = 20e-6;            // seconds: shorter runs are timed in batches
constexpr std::int64_t kResetEvery = 1000;  // runs: values that train for long may degenerate

/// Seconds of each run, or of the mean run of each batch.
struct Times {
  std::vector<double> alone, with_feeds;
  std::int64_t runs = 0;
  int batch = 1;
  std::int64_t free_bytes = 0;  // by the driver, once a run is recorded
};

/// Whether no step writes where a feed lies: one set of feeds then serves any number of runs.
bool feeds_last(const program::Program& p) {
  for (const program::Binding& feed : p.feeds) {
    const program::Buffer& f = p.buffer_of(feed.view);
    for (const program::Step& step : p.steps) {
      for (program::ViewId w : program::uses_of(step).writes) {
        const program::Buffer& b = p.buffer_of(w);
        if (b.region == program::Region::kArena && b.offset < f.offset + f.bytes &&
            f.offset < b.offset + b.bytes) {
          return false;
        }
      }
    }
  }
  return true;
}

class Bench {
 public:
  Bench(Ready& ready, double seconds, int row)
      : ready_(ready), loaded_(ready.loaded), seconds_(seconds), row_(row) {}

  Times run() {
    for (int i = 0; i < kWarmUps || !loaded_.executor.is_settled(); ++i) {
      loaded_.refresh();
      const Clock::time_point start = Clock::now();
      loaded_.executor.run();
      loaded_.executor.wait();
      last_ = seconds_since(start);
      tell();
    }
    start_ = Clock::now();
    double seconds = 0;
    loaded_.refresh();
    const bool by_device = loaded_.executor.run_row(row_, seconds);
    times_.free_bytes = loaded_.executor.runtime().free_bytes().value_or(0);
    if (by_device) {
      by_device_clock();
    } else if (last_ < kShort) {
      in_batches();
    } else {
      one_by_one();
    }
    return std::move(times_);
  }

 private:
  /// The share that is done, by how long a run took.
  void tell() {
    const double all = kWarmUps * last_ + std::max(seconds_, kLeastRuns * last_);
    countdown_.tick(times_.runs, seconds_since(begin_) / all);
  }

  bool goes_on() {
    tell();
    return seconds_since(start_) < seconds_ || static_cast<int>(times_.alone.size()) < kLeastRuns;
  }

  void reset_sometimes() {
    if (times_.runs < next_reset_) return;
    next_reset_ = times_.runs + kResetEvery;
    loaded_.set_states();
    loaded_.refresh();
    loaded_.executor.run();  // packs weights again
  }

  /// As peers are timed there: the device's own clock round one replay. With feeds: by the host's,
  /// runs that follow each other without a wait.
  void by_device_clock() {
    times_.batch = row_;
    double alone = 0, fed = 0;
    while (goes_on()) {
      reset_sometimes();
      const Clock::time_point begin = Clock::now();
      loaded_.refresh();
      double seconds = 0;
      loaded_.executor.run_row(row_, seconds);
      alone += seconds_since(begin);
      times_.alone.push_back(seconds / row_);
      times_.runs += row_;
      if (row_ > 1) {
        times_.with_feeds.push_back(seconds_since(begin) / row_);
      } else if (fed <= alone) {
        fed += follow_each_other();
      }
    }
  }

  /// Seconds of a few runs, each with feeds.
  double follow_each_other() {
    const int count = std::clamp(static_cast<int>(kFollowing / std::max(last_, 1e-6)),
                                 kLeastFollowing, kMostFollowing);
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < count; ++i) {
      loaded_.refresh();
      loaded_.executor.run();
    }
    loaded_.executor.wait();
    const double seconds = seconds_since(begin);
    times_.with_feeds.push_back(seconds / count);
    times_.runs += count;
    return seconds;
  }

  void one_by_one() {
    while (goes_on()) {
      reset_sometimes();
      const Clock::time_point begin = Clock::now();
      loaded_.refresh();
      const Clock::time_point fed = Clock::now();
      loaded_.executor.run();
      const Clock::time_point end = Clock::now();
      times_.alone.push_back(seconds_between(fed, end));
      times_.with_feeds.push_back(seconds_between(begin, end));
      ++times_.runs;
    }
  }

  template <class F>
  static double mean_seconds(F each) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < kBatch; ++i) each();
    return seconds_since(begin) / kBatch;
  }

  void in_batches() {
    times_.batch = kBatch;
    const bool last = feeds_last(loaded_.executor.program());
    std::vector<double> feeding;
    for (int i = 0; i < 20; ++i) feeding.push_back(mean_seconds([&] { loaded_.refresh(); }));
    const double feed_seconds = median(feeding);
    while (goes_on()) {
      reset_sometimes();
      const double both = mean_seconds([&] {
        loaded_.refresh();
        loaded_.executor.run();
      });
      times_.with_feeds.push_back(both);
      times_.runs += kBatch;
      if (!last) {
        times_.alone.push_back(std::max(0.0, both - feed_seconds));
        continue;
      }
      times_.alone.push_back(mean_seconds([&] { loaded_.executor.run(); }));
      times_.runs += kBatch;
    }
  }

  Ready& ready_;
  Loaded& loaded_;
  double seconds_;
  int row_;
  Times times_;
  std::int64_t next_reset_ = kResetEvery;
  double last_ = 0;  // seconds of a run
  Clock::time_point begin_ = Clock::now(), start_ = begin_;
  Countdown countdown_{"bench"};
};

std::string ms_text(double ms) {
  char text[64];
  std::snprintf(text, sizeof text, ms < 0.1 ? "%.6f ms" : "%.4f ms", ms);
  return text;
}

std::string fixed(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

/// Where a driver counts: its bytes beside the planned ones, what recording a run took, and what
/// the runs after that added.
std::string measured_text(const Executor& executor, std::int64_t recorded, std::int64_t more,
                          std::int64_t runs) {
  return str(with_commas(*executor.measured_bytes()), " by the driver (planned ",
             with_commas(executor.program().peak_bytes()), "), and ",
             with_commas(executor.code().held_bytes()), " for feeds and tables; ",
             with_commas(recorded), " for the recorded run, ", with_commas(more), " more after ",
             with_commas(runs), " runs");
}

void run_bench(const Args& args) {
  const double seconds = seconds_wanted(args, 3);
  const auto seed = static_cast<std::uint64_t>(args.whole("--seed", 0, 0));
  const auto row = static_cast<int>(args.whole("--row", 1, 1, kMostInARow));
  Ready ready = make_ready(args, seed);
  Loaded& loaded = ready.loaded;
  const Times times = Bench(ready, seconds, row).run();
  const std::int64_t recorded = ready.free_bytes - times.free_bytes;
  const std::int64_t more = times.free_bytes - loaded.executor.runtime().free_bytes().value_or(0);
  const program::Program& p = loaded.executor.program();
  std::int64_t operations = 0;
  for (const program::Step& s : p.steps)
    operations += evaluate(s.operations, loaded.executor.sizes());
  const double alone_ms = median(times.alone) * 1e3, fed_ms = median(times.with_feeds) * 1e3;
  const double least_ms = *std::min_element(times.alone.begin(), times.alone.end()) * 1e3;
  const double gflops = alone_ms > 0 ? static_cast<double>(operations) / alone_ms * 1e-6 : 0;
  if (args.has("--json")) {
    Json start = Json::object();
    for (const auto& [part, took] : ready.parts()) start[part] = took;
    return print_json({{"graph", p.graph_name},
                       {"backend", p.backend},
                       {"target", p.target},
                       {"threads", p.threads},
                       {"median_ms", alone_ms},
                       {"min_ms", least_ms},
                       {"median_with_feeds_ms", fed_ms},
                       {"runs", times.runs},
                       {"batch", times.batch},
                       {"operations", operations},
                       {"gflops", gflops},
                       {"steps", p.steps.size()},
                       {"one_function", p.single_kernel},
                       {"compile_seconds", ready.compile_seconds},
                       {"compile_from_cache", ready.from_cache},
                       {"load_seconds", loaded.executor.load_seconds()},
                       {"ready_seconds", ready.seconds},
                       {"start_seconds", start},
                       {"states_bytes", p.states_bytes},
                       {"arena_bytes", p.arena_bytes},
                       {"scratch_bytes", p.scratch_bytes},
                       {"held_bytes", loaded.executor.code().held_bytes()},
                       {"measured_bytes", loaded.executor.measured_bytes().value_or(0)},
                       {"recorded_bytes", recorded},
                       {"more_bytes", more}});
  }
  Table table{
      {},
      {},
      {{"graph", p.graph_name},
       {"target", str(p.target, ", ", p.threads, p.threads == 1 ? " thread" : " threads")},
       {"median", str(ms_text(alone_ms), "; least ", ms_text(least_ms))},
       {"with feeds", ms_text(fed_ms)},
       {"runs", str(with_commas(times.runs),
                    times.batch > 1 ? str(", timed in batches of ", times.batch) : "")},
       {"work", str(with_commas(operations), " operations, ", fixed(gflops), " GFLOP/s")},
       {"compiled in",
        str(duration_text(ready.compile_seconds), ready.from_cache ? ", from the cache" : "")},
       {"loaded in", duration_text(loaded.executor.load_seconds())},
       {"ready in", ready_text(ready)},
       {"memory", str("states ", bytes_text(p.states_bytes), ", arena ", bytes_text(p.arena_bytes),
                      ", scratch ", bytes_text(p.scratch_bytes))}}};
  if (loaded.executor.measured_bytes()) {
    table.rows.push_back({"measured", measured_text(loaded.executor, recorded, more, times.runs)});
  }
  print(table.text());
}

}  // namespace

constinit const Command kBench{
    .name = "bench",
    .usage = "FILE [options]",
    .doc = "times a program: the median of its runs",
    .least_words = 1,
    .most_words = 1,
    .flags = kBenchFlags,
    .details =
        "median      of a run alone: the feeds are copied in before it, untimed (median_ms)\n"
        "with feeds  of copying the feeds in and running (median_with_feeds_ms)\n"
        "Runs of less than 20 us are timed in batches of 100; where such a program overwrites its\n"
        "feeds, the time of copying them, measured apart, is taken off. Three runs go before.\n"
        "On cuda a run is timed by the device's clock, and runs with feeds follow each other: the\n"
        "feeds of one travel while another runs. With --row N the median is that of one run of N\n"
        "in one launch.\n"
        "ready in    from the start to the end of the first run; on cuda, in parentheses, what of "
        "it\n"
        "            is the driver's, the context's, the kernels' and the libraries', in part at "
        "once\n"
        "            (opened, started, prepared after: how far a concurrent thread was, and when)\n"
        "measured    what the driver gave, in its pieces of 2 MiB, beside what was planned\n"
        "Large states that begin as random numbers get others of the same spread: quicker to "
        "draw.\n"
        "FILE may also be a plan that `plait compile` wrote.\n",
    .example =
        "  $ plait bench 'model:mlp?train=1&dtype=f32'\n"
        "  graph        train\n"
        "  ...\n"
        "  median       0.002061 ms; least 0.002050 ms\n"
        "  with feeds   0.002232 ms\n"
        "  runs         831,000, timed in batches of 100\n"
        "  work         45,857 operations, 22.3 GFLOP/s\n"
        "  ...\n",
    .run = run_bench};

}  // namespace plait::cli
