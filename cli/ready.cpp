// Starting: the program, its values, the first run.
#include "cli/ready.h"

#include <future>

#include "base/text.h"
#include "cli/output.h"
#include "cli/summary.h"
#include "cli/timing.h"
#include "run/stand_in.h"

namespace plait::cli {
namespace {

constexpr std::size_t kOwnParts = 4;  // of Ready::parts, before the target's

struct Values {
  Arrays states, feeds;
};

Values make_values(const ir::Graph& graph, const std::vector<ir::State>& states,
                   std::uint64_t seed) {
  Values out;
  out.states = stand_in_values(states, seed);
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
    if (sizes.emplace(name, Dim(symbol.hi())).second) {
      guessed.push_back(str(name, "=", symbol.hi()));
    }
  }
  if (!guessed.empty()) note("sizes at the end of their ranges: " + join(guessed, ", "));
  return sizes;
}

}  // namespace

void Ready::set_states() {
  for (const program::StateBinding& s : loaded.executor.program().states) {
    const auto value = states.find(s.state.name);
    if (value == states.end()) {
      loaded.executor.memory().zero_state(s.state.name);
    } else if (value->second.sizes() == sizes_of(s.state.type.shape)) {
      loaded.executor.memory().set_state(s.state.name, value->second);
    } else {
      loaded.executor.memory().fill_state(s.state.name, value->second);
    }
  }
}

std::vector<std::pair<std::string, double>> Ready::parts() const {
  std::vector<std::pair<std::string, double>> out{{"program", program_seconds},
                                                  {"load", loaded.executor.load_seconds()},
                                                  {"states and feeds", states_seconds},
                                                  {"first run", first_run_seconds}};
  for (auto& part : loaded.executor.runtime().start_seconds()) out.push_back(std::move(part));
  return out;
}

Ready make_ready(const Args& args, std::uint64_t seed) {
  const Clock::time_point start = Clock::now();
  Planned planned = load_planned(args);
  const double program_seconds = seconds_since(start);
  const double compile_seconds = planned.compiled.seconds;
  const bool from_cache = planned.compiled.from_cache;
  const DimBindings sizes = all_sizes(planned);
  ir::Graph graph = substitute(planned.graph, sizes);
  std::vector<ir::State> states;
  for (const program::StateBinding& s : planned.compiled.program.states) states.push_back(s.state);
  // Where the system has no thread to give, when they are asked for.
  auto making = std::async(std::launch::async | std::launch::deferred,
                           [&] { return make_values(graph, states, seed); });
  Executor executor(std::move(planned.compiled.program), planned.target->open());
  if (!executor.program().symbols.empty()) executor.set_sizes(sizes);
  const Clock::time_point loaded_at = Clock::now();
  Values values = making.get();
  Ready out{
      {std::move(planned.target), std::move(graph), std::move(executor), std::move(values.feeds)},
      std::move(values.states)};
  out.set_states();
  out.loaded.refresh();
  const Clock::time_point set_at = Clock::now();
  out.loaded.executor.run();
  out.loaded.executor.wait();
  out.compile_seconds = compile_seconds;
  out.from_cache = from_cache;
  out.program_seconds = program_seconds;
  out.states_seconds = seconds_between(loaded_at, set_at);
  out.first_run_seconds = seconds_since(set_at);
  out.seconds = seconds_since(start);
  out.free_bytes = out.loaded.executor.runtime().free_bytes().value_or(0);
  return out;
}

std::string ready_text(const Ready& ready) {
  std::vector<std::string> own, inside;
  for (const auto& [part, seconds] : ready.parts()) {
    (own.size() < kOwnParts ? own : inside).push_back(str(part, " ", duration_text(seconds)));
  }
  return str(duration_text(ready.seconds), " with the first run: ", join(own, ", "),
             inside.empty() ? "" : " (" + join(inside, ", ") + ")");
}

}  // namespace plait::cli
