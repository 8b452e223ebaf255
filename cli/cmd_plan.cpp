// plait plan FILE: the memory of a program before it runs.
#include <algorithm>

#include "base/at.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/allocations.h"
#include "cli/bindings.h"
#include "cli/buffers.h"
#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/json.h"
#include "cli/summary.h"
#include "io/file.h"
#include "plan/place/place.h"
#include "plan/place/timeline.h"
#include "program/simulate.h"

namespace plait::cli {
namespace {

constexpr Flag kPlanFlags[] = {
    {"--svg", "F", "draw the arena over the steps into F"},
    {"--check", "", "run three steps: is memory as planned, and is nothing allocated?"},
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

constexpr std::size_t kMostRows = 15;

std::string step_text(const program::Program& p, int step) {
  if (p.steps.empty()) return "no step";
  const program::Step& s = p.steps[at(step)];
  return str("step ", step, " (%", s.name, s.path.empty() ? "" : " @ " + s.path, ")");
}

double gap_percent(const program::Program& p) {
  if (p.lower_bound_bytes == 0) return 0;
  return 100.0 * static_cast<double>(p.arena_bytes - p.lower_bound_bytes) /
         static_cast<double>(p.lower_bound_bytes);
}

std::string percent_text(double percent) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%%", percent);
  return text;
}

/// `0.42 s: lower and choose 0.2 s, group 0.1 s...`, longest first.
std::string stages_text(const Compiled& c) {
  if (c.from_cache) return str("read in ", duration_text(c.seconds), ", planned before");
  std::vector<std::pair<double, std::string>> stages{{c.passes_seconds, "passes"}};
  for (const auto& [name, seconds] : c.program.seconds) stages.emplace_back(seconds, name);
  std::stable_sort(stages.begin(), stages.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> parts;
  for (const auto& [seconds, name] : stages) parts.push_back(name + " " + duration_text(seconds));
  return str(duration_text(c.seconds), ": ", join(parts, ", "));
}

std::string head_text(const Compiled& c) {
  const program::Program& p = c.program;
  const std::string threads = str(p.threads, p.threads == 1 ? " thread" : " threads");
  Table table{{},
              {},
              {{"graph", p.graph_name},
               {"target", str(p.target, ", ", threads)},
               {"device", device_text(p.device)},
               {"predicted", str(duration_text(program::predicted_seconds(p)), " a run",
                                 p.symbols.empty() ? "" : " at the largest sizes")},
               {"states", bytes_text(p.states_bytes)},
               {"arena", bytes_text(p.arena_bytes)},
               {"scratch", str(bytes_text(p.scratch_bytes), ": workspace ",
                               bytes_text(p.scratch_bytes - p.persistent_bytes),
                               ", packed weights ", bytes_text(p.persistent_bytes))},
               {"peak", bytes_text(p.peak_bytes())},
               {"lower bound", str(bytes_text(p.lower_bound_bytes), " for the arena; gap ",
                                   percent_text(gap_percent(p)))},
               {"placed by", p.placed_by},
               {"steps", str(with_commas(static_cast<std::int64_t>(p.steps.size())),
                             p.single_kernel ? ", run as one kernel" : "")},
               {"kernels", str(with_commas(kernel_count(p)), " different")},
               {"planned in", stages_text(c)}}};
  for (const auto& [name, symbol] : p.symbols) {
    table.rows.push_back(
        {"size " + name, str(symbol.lo(), "..", symbol.hi(),
                             "; bytes and times are those at the end of the range")});
  }
  return table.text();
}

std::string peak_text(const program::Program& p, const std::vector<BufferLife>& lives) {
  const Peak peak = arena_peak(p);
  if (peak.buffers.empty()) return "\nThe arena is empty.\n";
  Table table{{"buffer", "type", "bytes", "steps"}, {false, false, true, true}, {}};
  std::int64_t rest = 0;
  for (std::size_t i = 0; i < peak.buffers.size(); ++i) {
    const program::Buffer& b = p.buffers[at(peak.buffers[i])];
    const BufferLife& life = lives[at(peak.buffers[i])];
    if (i >= kMostRows) {
      rest += b.bytes;
      continue;
    }
    table.rows.push_back({"%" + b.name, life.view ? type_text(life.view->type) : "-",
                          bytes_text(b.bytes), str(life.first, "..", life.last)});
  }
  std::string out = str("\nFullest at ", step_text(p, peak.step), ": ", peak.buffers.size(),
                        peak.buffers.size() == 1 ? " buffer, " : " buffers, ",
                        bytes_text(peak.bytes), " alive\n", table.text());
  if (peak.buffers.size() > kMostRows) {
    out += str("... ", peak.buffers.size() - kMostRows, " more, ", bytes_text(rest), "\n");
  }
  return out;
}

Json plan_json(const Compiled& c, const std::vector<BufferLife>& lives) {
  const program::Program& p = c.program;
  Json symbols = Json::object(), seconds = Json::object(), buffers = Json::array();
  for (const auto& [name, s] : p.symbols) symbols[name] = {{"lo", s.lo()}, {"hi", s.hi()}};
  seconds["passes"] = c.passes_seconds;
  for (const auto& [name, value] : p.seconds) seconds[name] = value;
  constexpr const char* kSpaces[] = {"arena", "state", "constant"};
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const program::Buffer& buffer = p.buffers[b];
    buffers.push_back({{"name", buffer.name},
                       {"space", kSpaces[static_cast<int>(buffer.region)]},
                       {"type", lives[b].view ? type_text(lives[b].view->type) : ""},
                       {"bytes", buffer.bytes},
                       {"offset", buffer.offset},
                       {"first", lives[b].first},
                       {"last", lives[b].last}});
  }
  return {{"graph", p.graph_name},
          {"backend", p.backend},
          {"target", p.target},
          {"threads", p.threads},
          {"states_bytes", p.states_bytes},
          {"arena_bytes", p.arena_bytes},
          {"scratch_bytes", p.scratch_bytes},
          {"peak_bytes", p.peak_bytes()},
          {"lower_bound_bytes", p.lower_bound_bytes},
          {"predicted_ms", program::predicted_seconds(p) * 1e3},
          {"device", {{"name", p.device.name}, {"source", p.device.source}}},
          {"gap_percent", gap_percent(p)},
          {"placed_by", p.placed_by},
          {"steps", p.steps.size()},
          {"kernels", kernel_count(p)},
          {"one_function", p.single_kernel},
          {"compile_seconds", c.seconds},
          {"from_cache", c.from_cache},
          {"stage_seconds", seconds},
          {"symbols", symbols},
          {"bindings", bindings_json(p, lives)},
          {"buffers", buffers}};
}

std::string timeline(const program::Program& p, const std::vector<BufferLife>& lives) {
  std::vector<plan::Interval> intervals;
  plan::Placement placement;
  std::vector<std::string> labels, steps;
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    if (p.buffers[b].region != program::Region::kArena) continue;
    intervals.push_back({p.buffers[b].bytes, lives[b].first, lives[b].last});
    placement.offsets.push_back(p.buffers[b].offset);
    labels.push_back(p.buffers[b].name);
  }
  placement.height = p.arena_bytes;
  placement.lower_bound = p.lower_bound_bytes;
  placement.method = p.placed_by;
  for (const program::Step& s : p.steps) steps.push_back(str(s.name, " (", s.kernel, ")"));
  return plan::timeline_svg(intervals, placement, labels, steps, "The arena of " + p.graph_name);
}

/// Memory as the run has it, beside the plan.
struct Measured {
  std::int64_t arena_planned = 0, arena_resident = 0;
  Allocated allocated;  // in the second and third step
  bool as_planned() const {
    return arena_planned == arena_resident && allocated.calls == 0 && allocated.bytes == 0;
  }
};

Measured run_three_steps(Planned planned, std::uint64_t seed) {
  Measured out;
  Loaded loaded = load(std::move(planned), seed, FirstStates::kInitial);
  const std::function<void()> step = [&] { loaded.executor.run(); };
  step();
  for (int i = 0; i < 2; ++i) {
    loaded.refresh();
    const Allocated now = allocated_during(step);
    out.allocated.calls += now.calls;
    out.allocated.bytes += now.bytes;
  }
  out.arena_planned = loaded.executor.program().arena_bytes;
  out.arena_resident = loaded.executor.resident_arena_bytes();
  return out;
}

std::string measured_text(const Measured& m) {
  return "\n" +
         Table{{},
               {},
               {{"arena planned", bytes_text(m.arena_planned)},
                {"arena resident", bytes_text(m.arena_resident)},
                {"allocations", str(m.allocated.calls, " in steps 2 and 3; the heap grew by ",
                                    bytes_text(m.allocated.bytes))}}}
             .text();
}

void run_plan(const Args& args) {
  Planned planned = load_planned(args);
  const std::vector<BufferLife> lives = buffer_lives(planned.compiled.program);
  const bool json = args.has("--json");
  if (args.has("--svg")) {
    io::write_file(args.text("--svg"), {timeline(planned.compiled.program, lives)});
  }
  Json result;
  if (json)
    result = plan_json(planned.compiled, lives);
  else
    print(head_text(planned.compiled) + bindings_text(planned.compiled.program, lives) +
          peak_text(planned.compiled.program, lives));
  if (!args.has("--check")) return json ? print_json(result) : void();

  const auto seed = static_cast<std::uint64_t>(args.whole("--seed", 0, 0));
  const Measured measured = run_three_steps(std::move(planned), seed);
  result["check"] = {{"arena_resident_bytes", measured.arena_resident},
                     {"allocations", measured.allocated.calls},
                     {"heap_growth_bytes", measured.allocated.bytes}};
  json ? print_json(result) : print(measured_text(measured));
  if (measured.as_planned()) return;
  throw RunError("memory is not as planned: see above");
}

}  // namespace

constinit const Command kPlan{
    .name = "plan",
    .usage = "FILE [options]",
    .doc = "plans a program's memory and says what is alive at the peak",
    .least_words = 1,
    .most_words = 1,
    .flags = kPlanFlags,
    .details =
        "states       kept from step to step, and constants\n"
        "arena        all that lives within a step, feeds and fetches too\n"
        "scratch      workspace of kernels, and weights packed once\n"
        "lower bound  the largest sum of buffers alive in one step: no arena is smaller\n"
        "static       what no feed and no state is bound to: it stays where the plan put it\n"
        "Steps are counted from 0.\n"
        "FILE may also be a plan that `plait compile` wrote.\n",
    .example =
        "  $ plait plan 'model:mlp?train=1&dtype=f32' --check\n"
        "  graph        train\n"
        "  ...\n"
        "  states       768 B\n"
        "  arena        8,768 (8.8 kB)\n"
        "  scratch      64 B: workspace 64 B, packed weights 0 B\n"
        "  peak         9,600 (9.6 kB)\n"
        "  lower bound  8,768 (8.8 kB) for the arena; gap 0.00%\n"
        "  ...\n"
        "  Fullest at step 2 (%mse_loss): 6 buffers, 8,768 (8.8 kB) alive\n"
        "  buffer     type                 bytes  steps\n"
        "  %x         f32[64,8]   2,048 (2.0 kB)   0..6\n"
        "  %t         f32[64,8]   2,048 (2.0 kB)   0..2\n"
        "  ...\n"
        "  arena planned   8,768 (8.8 kB)\n"
        "  arena resident  8,768 (8.8 kB)\n"
        "  allocations     0 in steps 2 and 3; the heap grew by 0 B\n",
    .run = run_plan};

}  // namespace plait::cli
