// Graph to program, and what a program is known by.
#include "plan/program.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/at.h"
#include "base/hash.h"
#include "base/text.h"
#include "ir/text.h"
#include "plan/memory.h"
#include "plan/rounded.h"

namespace plait::plan {
namespace {

class Clock {
 public:
  explicit Clock(std::map<std::string, double>& into) : into_(into) {}
  void lap(const std::string& name) {
    const auto now = std::chrono::steady_clock::now();
    into_[name] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  std::map<std::string, double>& into_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

std::string Options::text() const {
  return str("fuse=", fuse, " measure=", measure, " reorder=", reorder);
}

DimBindings largest(const std::map<std::string, Dim>& symbols) {
  DimBindings out;
  for (const auto& [name, symbol] : symbols) out.emplace(name, Dim(symbol.hi()));
  return out;
}

Program make_program(const ir::Graph& given, const Target& target, const Options& options,
                     const TuningResults& tuned) {
  Program p;
  Clock clock(p.seconds);
  p.graph_name = given.name;
  p.graph_text = ir::print(given);
  p.backend = target.name();
  p.target = target.identity();
  p.options = options.text();
  p.threads = target.threads();
  p.lanes = target.lanes();
  p.symbols = symbols_of(given);
  const DimBindings most = largest(p.symbols);
  clock.lap("text");
  const std::optional<Rounded> rounded = options.fuse ? keep_rounded(given, p.log) : std::nullopt;
  const ir::Graph& graph = rounded ? rounded->graph : given;
  const Facts facts(graph);
  clock.lap("facts");
  const Layouts layouts = choose_layouts(graph, facts);
  clock.lap("layout");
  const Grouping grouping = group(graph, facts, layouts, {.fuse = options.fuse}, p.log);
  clock.lap("group");
  Sight sight{graph, facts, layouts, grouping};
  for (const ir::NextState& n : graph.nexts) {
    sight.advanced.insert(graph.find_state(n.state)->value);
  }
  Tuning tuning{options.measure, tuned};
  Draft draft = make_draft(sight, target, most, tuning, p.log);
  p.tuning = std::move(tuning.used);
  clock.lap("lower and choose");
  std::vector<DraftStep> ordered;
  for (int i : choose_order(graph, draft, options, p.log)) {
    ordered.push_back(std::move(draft.steps[at(i)]));
  }
  draft.steps = std::move(ordered);
  if (options.reorder && !draft.whole) repeat_steps(graph, draft, p.log);
  clock.lap("order");
  if (!draft.whole) {
    gather_products(graph, draft, target, most, p.log);
    join_independent(graph, draft);
  }
  clock.lap("join");
  assign_memory(sight, draft, target, p);
  for (std::size_t i = given.states.size(); i < p.states.size(); ++i) {
    p.rounded.push_back({rounded->of[i - given.states.size()], p.states[i].held});
  }
  p.states.resize(given.states.size());
  clock.lap("place");
  for (auto& [name, text] : draft.texts) p.texts.push_back(text);
  p.whole = draft.whole;
  return p;
}

std::uint64_t program_hash(const ir::Graph& graph, const Target& target, const Options& options) {
  std::uint64_t hash = fnv1a64(ir::print(graph));
  hash = fnv1a64(target.identity(), hash);
  return fnv1a64(str(" threads=", target.threads(), " ", options.text()), hash);
}

}  // namespace plait::plan
