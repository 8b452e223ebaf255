// plait profile FILE: where a program's time goes, step by step.
#include "base/error.h"
#include "cli/command.h"
#include "cli/device.h"
#include "cli/json.h"
#include "cli/profiled.h"
#include "cli/timing.h"
#include "io/file.h"

namespace plait::cli {
namespace {

constexpr Flag kProfileFlags[] = {
    {"-o", "P.json", "write the profile in MegEngine's schema; `plait report` reads it"},
    {"--trace", "T.json", "write Chrome's trace events; Perfetto opens them"},
    {"--runs", "N", "how many runs to time"},
    {"--seconds", "S", "or for how long; 2 unless said"},
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

constexpr int kMostSteps = 20, kMostErrors = 10;  // in JSON

Json rows_json(const std::vector<profile::Row>& rows, const char* name) {
  Json list = Json::array();
  for (const profile::Row& row : rows) {
    list.push_back({{name, row.kind},
                    {"launches", row.launches},
                    {"ms", row.ms},
                    {"share", row.share},
                    {"operations", row.operations},
                    {"bytes", row.bytes},
                    {"peak_ms", row.peak_ms},
                    {"gflops", row.gflops},
                    {"gbs", row.gbs},
                    {"share_of_peak", row.share_of_peak},
                    {"predicted_ms", row.predicted_ms}});
    if (!row.bound.empty()) list.back()["bound"] = row.bound;
    if (!row.kernel.empty()) list.back()["kernel"] = row.kernel;
  }
  return list;
}

Json profile_json(const profile::Profile& p) {
  std::vector<double> whole;
  for (const profile::Run& run : p.runs) {
    whole.push_back(static_cast<double>(run.whole.end_ns - run.whole.begin_ns) * 1e-6);
  }
  return {{"graph", p.graph},
          {"backend", p.backend},
          {"machine", p.machine},
          {"threads", p.threads},
          {"runs", p.runs.size()},
          {"median_ms", median(whole)},
          {"overhead_percent", p.overhead_percent},
          {"peak_gflops", p.peak_gflops},
          {"peak_gbs", p.peak_gbs},
          {"ceilings_gflops", p.rates},
          {"launch_ms", p.launch_ms},
          {"usual_ms", p.usual_ms},
          {"apart_ms", p.apart_ms},
          {"taken_us", p.taken_us},
          {"states_bytes", p.states_bytes},
          {"arena_bytes", p.arena_bytes},
          {"scratch_bytes", p.scratch_bytes},
          {"kinds", rows_json(profile::by_kind(p), "kind")},
          {"predicted_ms", p.predicted_ms},
          {"predicted_at", p.predicted_at},
          {"prediction_error_percent", profile::error_percent(p)},
          {"slowest_steps", rows_json(profile::by_step(p, kMostSteps), "step")},
          {"worst_predicted", rows_json(profile::by_error(p, kMostErrors), "step")}};
}

/// What the tables leave out: nothing was measured.
std::string overhead_text(const profile::Profile& p) {
  if (p.overhead_percent > 0) return "";
  return str("\nThe clocks round the steps cost less than what runs differ by, of ", p.runs.size(),
             " pairs with and without them.\n");
}

void run_profile(const Args& args) {
  if (args.has("--runs") && args.has("--seconds")) {
    throw UsageError("--runs and --seconds exclude each other");
  }
  const ProfileRequest request{args.whole("--runs", 0, 1), seconds_wanted(args, 2)};
  const auto seed = static_cast<std::uint64_t>(args.whole("--seed", 0, 0));
  if (args.text("--backend", "cpu") == "cpu" && !args.has("--device")) measured_processor();
  Loaded loaded = load(load_planned(args), seed, FirstStates::kInitial);
  const profile::Profile p = profiled(loaded, request);
  if (args.has("-o")) io::write_file(args.text("-o"), {profile::to_megengine(p)});
  if (args.has("--trace")) io::write_file(args.text("--trace"), {profile::to_trace(p)});
  if (loaded.executor.program().single_kernel) {
    note("outside of a profile, this program runs as one kernel: `plait bench` times that");
  }
  if (args.has("--json")) return print_json(profile_json(p));
  print(profile::table_text(p) + overhead_text(p));
}

}  // namespace

constinit const Command kProfile{
    .name = "profile",
    .usage = "FILE [-o P.json] [options]",
    .doc = "times a program step by step: kinds of kernels, the slowest steps, share of the peak",
    .least_words = 1,
    .most_words = 1,
    .flags = kProfileFlags,
    .details =
        "States have their initial values, feeds are random. The peaks are measured once on each\n"
        "machine: multiply-adds in registers, a copy of memory larger than the caches; on a GPU\n"
        "large products of each precision, a copy of 1 GB. Runs with clocks and without take\n"
        "turns: their ratio is the clocks' overhead. On a GPU each step is timed by itself, then\n"
        "all in one launch, in order: what the clock adds is taken off each step alike; and as\n"
        "they usually run, independent steps on two streams.\n"
        "FILE may also be a plan that `plait compile` wrote.\n",
    .example =
        "  $ plait profile 'model:resnet50?batch=1' --threads 1 -o p.json\n"
        "  ...\n"
        "    operations 8,195,408,264: 52.8 GFLOP/s, 51.0% of the measured 103.7\n"
        "  ...\n"
        "  kind                launches       ms   share  GFLOP/s  GB/s  of peak\n"
        "  ConvolutionForward        53  154.346   99.6%     53.1   1.3    51.2%\n"
        "  ...\n"
        "  $ plait report p.json\n"
        "  MegEngine profile p.json\n"
        "  ...\n",
    .run = run_profile};

}  // namespace plait::cli
