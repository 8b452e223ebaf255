// A program for the commands that plan, run, explain or time one: a graph of FILE compiled, or a
// plan that `plait compile` wrote. Ready to run, it has initial states and random feeds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backends/backends.h"
#include "cli/args.h"
#include "cli/device.h"
#include "run/session.h"

namespace plait::cli {

inline constexpr Flag kTargetFlag{"--backend", "NAME", "cpu, the default, or cuda"};
inline constexpr Flag kFp32Flag{"--fp32", "HOW",
                                "strict, the default, or tf32: f32 products on tensor cores"};
inline constexpr Flag kFastFlag{"--fast", "",
                                "on cuda, take convolutions whose bits differ from run to run"};
inline constexpr Flag kThreadsFlag{"--threads", "N", "as many as there are cpus unless said"};
inline constexpr Flag kMeasureFlag{"--measure", "",
                                   "time the implementations of contractions, take the fastest"};
inline constexpr Flag kNoFuseFlag{"--no-fuse", "", "every node its own kernel, for comparison"};
inline constexpr Flag kSliceFlag{
    "--slice", "MIB", "slice larger results of contractions by rows; 0, unless said: none"};
inline constexpr Flag kTrustFlag{"--trust", "", "of a plan: run it as it is written, its code too"};
inline constexpr Flag kSeedFlag{"--seed", "N", "of initial states and random feeds; 0 unless said"};
/// What --threads, --fp32, --fast and, for this backend, --device say.
TargetOptions target_options(const Args& args, std::string_view backend);

/// What --slice says, or planning's own.
std::int64_t slice_bytes(const Args& args);

/// Whether a file's first bytes are a plan's. Standard input and models are none.
bool is_plan(const std::string& file);

struct Planned {
  std::unique_ptr<Target> target;
  ir::Graph graph;    // with the sizes that --set says; of a plan: what it was planned from
  DimBindings sizes;  // of a plan's symbols: those that --set says
  plan::Options options;
  Compiled compiled;
  std::string trusted{};  // the plan, where its program is run as it is written
};

/// Calls `load`, which compiles a program's code. UserError where that is of a `trusted` plan and
/// does not compile.
void load_code(const std::string& trusted, const std::function<void()>& load);

/// FILE, compiled or read, for the backend and threads that the options name. UserError when a
/// plan was compiled for another machine or another number of threads, unless --rebuild plans it
/// anew, or where it is not what its graph gives, unless --trust takes it as it is written.
Planned load_planned(const Args& args);

/// What states begin as: their initial values, or others of the same spread, which are there sooner
/// (stand_in_values).
enum class FirstStates { kInitial, kStandIns };

/// A program in memory with values to run on.
struct Loaded {
  std::unique_ptr<Target> target;
  ir::Graph graph;  // all sizes are numbers
  Executor executor;
  Arrays states, feeds;
  double states_seconds = 0;  // from the program's end of loading until both were there

  /// To what they were at the start.
  void set_states();
  /// Feeds lie in the arena, where steps may write over them: to be called before each run.
  void refresh();
};

/// Values are made while the program is loaded. Symbols that nothing says are set to the end of
/// their ranges, and a note says so.
Loaded load(Planned planned, std::uint64_t seed, FirstStates first);

}  // namespace plait::cli
