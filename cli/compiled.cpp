// Compiling FILE, or reading the plan that it is.
#include "cli/compiled.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <optional>

#include "backends/backends.h"
#include "base/cpus.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/source.h"
#include "cli/timing.h"
#include "codegen/compile.h"
#include "io/file.h"
#include "ir/text.h"
#include "ops/initializers.h"
#include "run/stand_in.h"

namespace plait::cli {
namespace {

constexpr std::string_view kPlanBegins = "plait-plan ";

plan::Options options_from(const Args& args) {
  plan::Options options;
  options.measure = args.has("--measure");
  options.fuse = !args.has("--no-fuse");
  options.slice_bytes = slice_bytes(args);
  return options;
}

/// Of the symbols of a plan, those that --set says.
DimBindings set_sizes(const Args& args) {
  DimBindings sizes;
  for (const std::string& list : args.all("--set")) {
    for (const std::string& pair : split(list, ',')) {
      const auto [name, text] = name_and_value("--set", pair);
      sizes.emplace(name, Dim(parse_integer(text, "--set " + name)));
    }
  }
  return sizes;
}

/// What keeps a plan from running here; empty when nothing does.
std::string obstacle(const program::Program& stored, const Target& target) {
  if (stored.target != target.identity()) {
    return str("was compiled for ", stored.target, "; this is ", target.identity());
  }
  if (stored.threads != target.threads()) {
    return str("was compiled for ", stored.threads, " threads, not for ", target.threads());
  }
  return "";
}

/// The states that a plan's program was given by others: those that its graph does not have, or
/// does not advance. Their layouts are the file's; all else is planned.
program::StateTable given_table(const program::Program& stored, const ir::Graph& graph) {
  const bool is_shared =
      std::any_of(stored.states.begin(), stored.states.end(), [&](const program::StateBinding& s) {
        const auto is_next = [&](const ir::NextState& n) { return n.state == s.state.name; };
        return !graph.find_state(s.state.name) ||
               (s.advanced && std::none_of(graph.nexts.begin(), graph.nexts.end(), is_next));
      });
  return is_shared ? program::table_of(stored) : program::StateTable();
}

/// The program of a plan, planned again from its graph and its measurements: nothing of what the
/// file says of steps, memory and code is run. `why` is set where the plan says something else.
Compiled replanned(const program::Program& stored, const ir::Graph& graph, const Target& target,
                   const plan::Options& options, std::string& why) {
  Compiled out = compile(graph, target,
                         {.plan = options,
                          .passes = false,
                          .tuned = stored.tuning,
                          .table = given_table(stored, graph)});
  const std::string other = program::difference(out.program, stored);
  if (!other.empty()) {
    why = str("is not what this build of Plait plans for its graph (", other,
              "): it is of another build, or was changed");
  }
  out.program.log = stored.log;  // the passes' too
  return out;
}

bool is_planned_without_device(const program::Program& stored, const TargetOptions& options) {
  return stored.backend == "cuda" &&
         make_planner(stored.backend, options, "it only plans")->identity() == stored.target;
}

/// What may be done about a plan that is not run; --trust where `runs_as_written`.
std::string ways_out(const Args& args, bool runs_as_written) {
  std::vector<std::string> flags;
  if (args.may_have("--rebuild")) flags.emplace_back("--rebuild");
  if (runs_as_written && args.may_have("--trust")) {
    flags.emplace_back("--trust to run it as it is written");
  }
  return str("compile again here", flags.empty() ? "" : ", or say ", join(flags, ", or "));
}

/// A plan starts as many threads as it says, more than there are cpus too.
void tell_of_threads(const std::string& file, int threads) {
  const std::size_t cpus = process_cpus().size();
  if (static_cast<std::size_t>(threads) <= cpus) return;
  note(str(file, " is for ", threads, " threads, and there ",
           cpus == 1 ? "is 1 cpu" : str("are ", cpus, " cpus"), ": they share"));
}

Planned read_plan(const Args& args) {
  const std::string file = args.words()[0];
  if (args.has("--graph")) throw UsageError("--graph: a plan holds one graph");
  if (args.has("--measure") || args.has("--no-fuse") || args.has("--slice")) {
    throw UsageError("--measure, --no-fuse and --slice are said when a plan is compiled");
  }
  Planned out;
  const program::Program stored = program::from_bytes(io::read_file(file), file);
  io::Import import;
  import.package.graphs = {ir::parse_graph(stored.graph_text, file)};
  const ir::Graph& graph = import.package.graphs[0];
  out.graph = set_symbols(import, args).graphs[0];
  out.sizes = set_sizes(args);
  out.options = stored.options;
  const std::string backend = args.text("--backend", stored.backend);
  TargetOptions options = target_options(args, backend);
  if (!args.has("--threads")) {
    options.threads = stored.threads;
    tell_of_threads(file, stored.threads);
  }
  if (!args.has("--device") && backend == stored.backend) {
    check_usable(stored.device, file);
    options.device = stored.device;
  }
  out.target = make_plan_target(backend, options);
  std::string why = obstacle(stored, *out.target);
  if (why.empty() && args.has("--trust")) {
    note(file + " is run as it is written: trust who wrote it, as with any program");
    out.compiled.program = stored;
    out.trusted = file;
    return out;
  }
  if (!why.empty() && is_planned_without_device(stored, options)) {
    out.compiled = compile(graph, *out.target, {.plan = out.options});
    note(str(file, " was planned without a device: planned again for ", out.target->identity(),
             ", peak ", bytes_text(out.compiled.program.peak_bytes()), ", before ",
             bytes_text(stored.peak_bytes())));
    return out;
  }
  const bool is_for_here = why.empty();
  if (is_for_here) out.compiled = replanned(stored, graph, *out.target, out.options, why);
  if (!why.empty() && !args.has("--rebuild")) {
    fail(file, ": ", why, ": ", ways_out(args, is_for_here));
  }
  if (!why.empty()) out.compiled = compile(graph, *out.target, {.plan = out.options});
  return out;
}

struct Values {
  Arrays states, feeds;
};

Values make_values(const ir::Graph& graph, const std::vector<ir::State>& states, std::uint64_t seed,
                   FirstStates first) {
  Values out;
  if (first == FirstStates::kStandIns) out.states = stand_in_values(states, seed);
  for (const ir::State& s : states) {
    if (first == FirstStates::kInitial) out.states.emplace(s.name, initial_value(s, seed));
  }
  for (ir::ValueId id : graph.feeds) {
    out.feeds.emplace(graph.value(id).name, random_feed(graph, id, seed));
  }
  return out;
}

/// What is given, the others at the end of their ranges.
DimBindings all_sizes(const Planned& planned) {
  DimBindings sizes = planned.sizes;
  std::vector<std::string> guessed;
  for (const auto& [name, symbol] : planned.compiled.program.symbols) {
    if (!sizes.emplace(name, Dim(symbol.hi())).second) continue;
    guessed.push_back(str(name, "=", symbol.hi()));
  }
  if (!guessed.empty()) note("sizes at the end of their ranges: " + join(guessed, ", "));
  return sizes;
}

}  // namespace

TargetOptions target_options(const Args& args, std::string_view backend) {
  TargetOptions options;
  options.device = device_of(args, backend);
  options.threads = static_cast<int>(args.whole("--threads", 0, 1, kMostThreads));
  const std::string fp32 = args.text("--fp32", "strict");
  if (fp32 != "strict" && fp32 != "tf32") throw UsageError("--fp32 is strict or tf32");
  options.tf32 = fp32 == "tf32";
  options.fast = args.has("--fast");
  return options;
}

std::int64_t slice_bytes(const Args& args) {
  constexpr std::int64_t kMost = 1 << 20;  // a TiB
  const std::int64_t unless_said = plan::Options().slice_bytes >> 20;
  return args.whole("--slice", unless_said, 0, kMost) << 20;
}

bool is_plan(const std::string& file) {
  std::error_code ignored;  // a pipe must not lose its first bytes
  if (file.starts_with("model:") || !std::filesystem::is_regular_file(file, ignored)) return false;
  char head[kPlanBegins.size()];
  io::InputFile in(file);
  return std::string_view(head, in.read_fully(head, sizeof head)) == kPlanBegins;
}

Planned load_planned(const Args& args) {
  if (is_plan(args.words()[0])) return read_plan(args);
  if (args.has("--trust"))
    throw UsageError("--trust is for plans; " + args.words()[0] + " is none");
  Planned out;
  const std::string backend = args.text("--backend", "cpu");
  out.target = make_plan_target(backend, target_options(args, backend));
  const ir::Package package = load_checked(args);
  out.graph = chosen_graph(package, args);
  out.options = options_from(args);
  out.compiled = compile(out.graph, *out.target, {.plan = out.options});
  if (const auto made = package.logs.find(out.graph.name); made != package.logs.end()) {
    DecisionLog& log = out.compiled.program.log;
    log.insert(log.begin(), made->second.begin(), made->second.end());
  }
  return out;
}

void load_code(const std::string& trusted, const std::function<void()>& load) {
  try {
    load();
  } catch (const codegen::CompileError& e) {
    if (trusted.empty()) throw;
    fail("the C of ", trusted, " does not compile: ", e.first_error);
  }
}

void Loaded::set_states() {
  PackageMemory& memory = executor.memory();
  for (const program::StateBinding& s : executor.program().states) {
    const auto value = states.find(s.state.name);
    if (value == states.end()) {
      memory.zero_state(s.state.name);
    } else if (value->second.sizes() == sizes_of(s.state.type.shape)) {
      memory.set_state(s.state.name, value->second);
    } else {
      memory.fill_state(s.state.name, value->second);
    }
  }
}

void Loaded::refresh() {
  for (const auto& [name, value] : feeds) executor.set_feed(name, value);
}

Loaded load(Planned planned, std::uint64_t seed, FirstStates first) {
  const DimBindings sizes = all_sizes(planned);
  ir::Graph graph = substitute(planned.graph, sizes);
  std::vector<ir::State> states;
  for (const program::StateBinding& s : planned.compiled.program.states) states.push_back(s.state);
  // Where the system has no thread to give, when they are asked for.
  auto making = std::async(std::launch::async | std::launch::deferred,
                           [&] { return make_values(graph, states, seed, first); });
  std::optional<Executor> loaded;
  load_code(planned.trusted,
            [&] { loaded.emplace(std::move(planned.compiled.program), planned.target->open()); });
  Executor& executor = *loaded;
  if (!executor.program().symbols.empty()) executor.set_sizes(sizes);
  const Clock::time_point loaded_at = Clock::now();
  Values values = making.get();
  Loaded out{std::move(planned.target), std::move(graph), std::move(executor),
             std::move(values.states), std::move(values.feeds)};
  out.set_states();
  out.refresh();
  out.states_seconds = seconds_since(loaded_at);
  return out;
}

}  // namespace plait::cli
