// Running a plan: sizes from --set and the feeds, states from the seed or from files.
#include "cli/run_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/compiled.h"
#include "cli/kernel_trace.h"
#include "cli/output.h"
#include "cli/results.h"
#include "cli/source.h"
#include "io/safetensors.h"
#include "ops/initializers.h"
#include "train/first_weights.h"

namespace plait::cli {
namespace {

/// Those asked for, which the program must have; all of them unless asked.
std::vector<std::string> fetch_names(const program::Program& program, const Args& args) {
  std::vector<std::string> all;
  for (const program::Binding& f : program.fetches) all.push_back(f.name);
  const std::vector<std::string> asked = asked_fetches(args);
  for (const std::string& name : asked) {
    if (std::find(all.begin(), all.end(), name) != all.end()) continue;
    fail(args.words()[0], ": the plan does not fetch '", name, "'; it fetches ",
         all.empty() ? "nothing" : join(all, ", "), ". Other values need the graph");
  }
  return asked.empty() ? all : asked;
}

void require_feeds(const ir::Graph& graph, const Arrays& feeds) {
  std::vector<std::string> names;
  for (ir::ValueId id : graph.feeds) names.push_back(graph.value(id).name);
  for (const auto& [name, array] : feeds) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    fail("graph ", graph.name, " has no feed '", name, "'.", suggestion(name, names),
         names.empty() ? " It has none" : " Its feeds are " + join(names, ", "));
  }
}

void start_states(Executor& executor, const Args& args, std::uint64_t seed) {
  std::map<std::string, DType> dtypes;
  for (const program::StateBinding& s : executor.program().states) {
    executor.set_state(s.state.name, initial_value(s.state, seed));
    dtypes.emplace(s.state.name, s.state.type.dtype);
  }
  if (args.has("--weights")) {
    const std::string file = args.text("--weights");
    const io::TensorFile weights = io::read_safetensors(file);
    train::Tensors taken;
    for (const program::StateBinding& s : executor.program().states) {
      if (s.state.role != ir::Role::kParam && s.state.role != ir::Role::kBuffer) continue;
      const auto found = weights.tensors.find(s.state.name);
      if (found != weights.tensors.end()) {
        set_state(executor, s.state.name, found->second);
        taken.emplace(s.state.name, found->second);
      } else if (s.state.role == ir::Role::kParam) {
        fail(file, " lacks the parameter ", s.state.name, " of the plan");
      }
    }
    if (const std::string said = train::non_finite_note(taken, file); !said.empty()) note(said);
  }
  for (const std::string& text : args.all("--state")) {
    const auto [name, path] = name_and_value("--state", text);
    const auto dtype = dtypes.find(name);
    set_state(executor, name, read_value(path, dtype == dtypes.end() ? DType::f32 : dtype->second));
  }
}

Arrays states_of(const Executor& executor) {
  Arrays out;
  for (const program::StateBinding& s : executor.program().states) {
    out.emplace(s.state.name, executor.state(s.state.name));
  }
  return out;
}

}  // namespace

void run_plan_file(const Args& args, std::int64_t steps, std::uint64_t seed) {
  if (args.has("--against")) throw UsageError("--against needs a graph, not a plan");
  Planned planned = load_planned(args);
  const bool json = args.has("--json");
  const std::vector<std::string> names = fetch_names(planned.compiled.program, args);
  const bool symbolic = !planned.compiled.program.symbols.empty();
  Executor executor(std::move(planned.compiled.program), planned.target->open());
  Arrays feeds = given_feeds(planned.graph, args);
  require_feeds(planned.graph, feeds);
  DimBindings sizes = planned.sizes;
  sizes.merge(executor.sizes_from(feeds));
  const ir::Graph graph = substitute(planned.graph, sizes);
  require_numbers(graph);
  if (symbolic) executor.set_sizes(sizes);
  add_random_feeds(graph, seed, feeds);
  start_states(executor, args, seed);

  Progress progress(graph, steps, json);
  const StepResults results = run_steps(steps, names, json, progress, [&] {
    for (const auto& [name, value] : feeds) executor.set_feed(name, value);
    executor.run();
    Arrays fetched;
    for (const std::string& name : names) fetched.emplace(name, executor.fetch(name));
    return fetched;
  });
  write_results(args, results.fetched, [&] { return states_of(executor); });
  Json result = json ? result_json(graph.name, names, results) : Json();
  if (!json) print_fetches(names, results.fetched);
  if (args.has("--trace-kernels")) tell_kernels(executor.program(), json, result);
  if (json) print_json(result);
}

}  // namespace plait::cli
