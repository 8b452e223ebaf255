// plait compile FILE -o F.plan: a program as a file, its code in the cache.
#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "backends/runtime.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/buffers.h"
#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/summary.h"
#include "cli/timing.h"
#include "io/file.h"
#include "ir/text.h"

namespace plait::cli {
namespace {

constexpr Flag kCompileFlags[] = {
    {"-o", "F.plan", "where to write the program; without it, the cache is filled"},
    kTargetFlag,
    kDeviceFlag,
    kFp32Flag,
    kFastFlag,
    kThreadsFlag,
    kMeasureFlag,
    kNoFuseFlag,
    kSliceFlag,
    {"--rebuild", "", "of a plan: plan it anew when it is for another machine"},
    kGraphFlag,
    kSetFlag,
    kJsonFlag,
};

/// Texts that are neither a hand kernel nor the one function of a small program.
std::size_t generated_functions(const program::Program& p) {
  std::set<std::string_view> others{program::kSingleKernel};
  for (const program::Step& step : p.steps) {
    for (const program::Call& call : step.calls) {
      if (const auto* hand = std::get_if<HandCall>(&call)) others.insert(hand->code);
    }
  }
  return static_cast<std::size_t>(std::count_if(
      p.texts.begin(), p.texts.end(), [&](const auto& t) { return !others.contains(t.first); }));
}

/// The program's code, compiled into the cache.
struct CompiledCode {
  double seconds = 0;
  int compiled = 0, from_cache = 0;  // units
};

/// Nothing where the device that the program was planned for is not here; a note says why.
std::optional<CompiledCode> compile_code(const program::Program& p, const Target& target) {
  const Clock::time_point start = Clock::now();
  std::unique_ptr<Runtime> runtime;
  try {
    runtime = target.open();
  } catch (const RunError& e) {
    note(str("its code is compiled where it runs: ", e.what()));
    return std::nullopt;
  }
  const std::unique_ptr<Code> code = runtime->load(p);
  return CompiledCode{seconds_since(start), code->units() - code->built_from_cache(),
                      code->built_from_cache()};
}

std::string code_text(const std::optional<CompiledCode>& code) {
  if (!code) return "not compiled here";
  return str(duration_text(code->seconds), "; files of C compiled ", code->compiled,
             ", from the cache ", code->from_cache);
}

Json compile_json(const Compiled& c, const std::string& hash, std::size_t plan_bytes,
                  const std::optional<CompiledCode>& code) {
  const program::Program& p = c.program;
  return {{"graph", p.graph_name},
          {"target", p.target},
          {"threads", p.threads},
          {"hash", hash},
          {"plan_bytes", plan_bytes},
          {"states_bytes", p.states_bytes},
          {"arena_bytes", p.arena_bytes},
          {"scratch_bytes", p.scratch_bytes},
          {"peak_bytes", p.peak_bytes()},
          {"steps", p.steps.size()},
          {"kernels", kernel_count(p)},
          {"functions", generated_functions(p)},
          {"units_compiled", code ? Json(code->compiled) : Json()},
          {"units_from_cache", code ? Json(code->from_cache) : Json()},
          {"plan_from_cache", c.from_cache},
          {"plan_seconds", c.seconds},
          {"load_seconds", code ? Json(code->seconds) : Json()}};
}

void run_compile(const Args& args) {
  const Planned planned = load_planned(args);
  const Compiled& c = planned.compiled;
  const program::Program& p = c.program;
  const std::string hash = hex_digits(plan::program_hash(
      ir::parse_graph(p.graph_text, p.graph_name), *planned.target, planned.options));
  const std::string bytes = program::to_bytes(p);
  if (args.has("-o")) io::write_file(args.text("-o"), {bytes});
  const std::optional<CompiledCode> code = compile_code(p, *planned.target);
  if (args.has("--json")) return print_json(compile_json(c, hash, bytes.size(), code));
  const std::string where = args.has("-o") ? args.text("-o") : "not written";
  print(Table{
      {},
      {},
      {{"graph", p.graph_name},
       {"target", str(p.target, ", ", p.threads, p.threads == 1 ? " thread" : " threads")},
       {"hash", hash},
       {"plan", str(where, ", ", bytes_text(static_cast<std::int64_t>(bytes.size())))},
       {"memory", str("states ", bytes_text(p.states_bytes), ", arena ", bytes_text(p.arena_bytes),
                      ", scratch ", bytes_text(p.scratch_bytes))},
       {"steps",
        str(p.steps.size(), p.single_kernel ? ", run as one kernel" : "", "; ", kernel_count(p),
            " different kernels, ", generated_functions(p), " generated functions")},
       {"planned in", str(duration_text(c.seconds), c.from_cache ? ", from the cache" : "")},
       {"code in", code_text(code)}}}
            .text());
}

}  // namespace

constinit const Command kCompile{
    .name = "compile",
    .usage = "FILE -o F.plan [options]",
    .doc = "compiles a graph of FILE into a program that `plait run F.plan` runs",
    .least_words = 1,
    .most_words = 1,
    .flags = kCompileFlags,
    .details =
        "The plan holds the graph, the steps, the code's text and where every buffer lies; it is\n"
        "for this kind of machine and this number of threads. The compiled code is in the cache;\n"
        "with --backend cuda and no GPU, code is compiled where the plan runs.\n"
        "The hash is over graph, target and options: plans of one hash are the same.\n"
        "Who runs the plan plans its graph again, by what was measured for it, and compares: code\n"
        "is never taken from the file.\n",
    .example =
        "  $ plait compile 'model:mlp?train=1&dtype=f32' -o mlp.plan\n"
        "  graph       train\n"
        "  ...\n"
        "  hash        2293e8ffb443945a\n"
        "  plan        mlp.plan, 28,358 (28.4 kB)\n"
        "  memory      states 768 B, arena 8,768 (8.8 kB), scratch 64 B\n"
        "  steps       11, run as one kernel; 8 different kernels, 8 generated functions\n"
        "  ...\n"
        "  $ plait run mlp.plan --steps 2\n"
        "  plait: random feeds, the same in every step (seed 0): x f32[64,8], t f32[64,8]\n"
        "  step 1/2  loss 0.38027  0.03 ms\n"
        "  step 2/2  loss 0.37970  0.01 ms\n"
        "  ...\n",
    .run = run_compile};

}  // namespace plait::cli
