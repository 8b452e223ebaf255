// The table of stages, and running them.
#include "plan/stages.h"

#include <algorithm>
#include <chrono>

#include "base/at.h"
#include "base/text.h"
#include "ir/text.h"
#include "plan/buffers.h"
#include "plan/order/batch.h"
#include "plan/order/join.h"
#include "plan/order/order.h"
#include "plan/order/recompute.h"
#include "plan/order/streams.h"
#include "plan/stage_text.h"

namespace plait::plan {
namespace {

void keep_rounded(Planning& p) {
  const NewCopies add = p.options.fuse ? NewCopies::kYes : NewCopies::kNo;
  std::optional<Rounded> rounded = plan::keep_rounded(p.given, p.table, add, p.program.log);
  if (!rounded) return;
  p.changed = std::move(rounded->graph);
  p.copy_of = std::move(rounded->of);
}

void facts(Planning& p) {
  p.facts.emplace(p.graph(), p.target.is_node_by_node() ? Nodes::kAsTheyAre : Nodes::kByOp);
  p.advanced.clear();
  for (const ir::NextState& n : p.graph().nexts) {
    p.advanced.insert(p.graph().find_state(n.state)->value);
  }
}

void layout(Planning& p) {
  Pinned pinned;
  for (const ir::StateUse& use : p.graph().states) {
    if (const auto* entry = p.entry_of(use.state)) pinned.of.emplace(use.value, entry->layout);
  }
  p.layouts = choose_layouts(p.graph(), *p.facts, pinned);
  if (pinned.of.empty()) return;
  const LayoutClashes clashes = clashes_in(p.graph(), *p.facts, p.layouts);
  if (clashes.states.empty() && clashes.nexts.empty()) return;
  p.changed = with_copies(p.graph(), clashes, p.layouts, pinned);
  facts(p);
  p.layouts = choose_layouts(p.graph(), *p.facts, pinned);
}

void group(Planning& p) {
  p.grouping = plan::group(p.graph(), *p.facts, p.layouts, {.fuse = p.options.fuse}, p.program.log);
}

void choose(Planning& p) {
  p.draft = make_draft(p.context(), p.target, p.largest, p.tuning, p.program.log);
  p.program.tuning = std::move(p.tuning.used);
}

void order(Planning& p) {
  std::vector<DraftStep> ordered;
  for (int i : choose_order(p.graph(), p.draft, p.options, p.program.log)) {
    ordered.push_back(std::move(p.draft.steps[at(i)]));
  }
  p.draft.steps = std::move(ordered);
}

void recompute(Planning& p) {
  if (p.options.reorder && !p.draft.single_kernel)
    recompute_steps(p.graph(), p.draft, p.program.log);
}

void batch(Planning& p) {
  if (!p.draft.single_kernel) {
    batch_products(p.graph(), p.draft, p.target, p.largest, p.program.log);
  }
}

void join_steps(Planning& p) {
  if (!p.draft.single_kernel) join_independent(p.graph(), p.draft);
}

void place(Planning& p) {
  program::Program& program = p.program;
  place_buffers(p.context(), {p.table, p.copy_of}, p.draft, p.target, program);
  program.texts = p.draft.texts;
  program.single_kernel = p.draft.single_kernel;
}

void streams(Planning& p) { assign_streams(p.program); }

void code(Planning& p) { p.target.add_code(p.program); }

// clang-format off
constexpr Stage kStages[] = {
    {"keep_rounded", keep_rounded, graph_text, "first: it changes what is planned"},
    {"facts", facts, facts_text, "what every later stage asks of a node, worked out once"},
    {"layout", layout, layout_text, "before group: iteration spaces meet in memory order"},
    {"group", group, group_text, "before choose: an implementation is for a group"},
    {"choose", choose, steps_text, "lowers each group and takes what the target offers", true},
    {"order", order, steps_text, "before recompute: what is far from its reader is known", true},
    {"recompute", recompute, steps_text, "before batch and join, which make steps larger", true},
    {"batch", batch, steps_text, "before join: several products as one launch", true},
    {"join", join_steps, steps_text, "before place: which steps there are says who lives", true},
    {"place", place, program_text, "before streams: aliases, in-place, offsets, workspaces"},
    {"streams", streams, program_text, "behind place: who meets whom in memory is known"},
    {"code", code, program_text, "last: what remains to be printed needs all the others"},
};
// clang-format on

}  // namespace

Planning::Planning(const ir::Graph& graph, const Target& target, const Options& options,
                   const TuningResults& tuned, const program::StateTable& table)
    : given(graph),
      target(target),
      options(target.is_node_by_node() ? Options{.fuse = false, .reorder = false} : options),
      table(table),
      tuning{options.measure, tuned} {
  program.graph_name = graph.name;
  program.graph_text = ir::print(graph);
  program.backend = target.name();
  program.target = target.identity();
  program.device = target.device();
  program.options = this->options;
  program.threads = target.threads();
  program.streams = target.streams();
  program.symbols = symbols_of(graph);
  largest = program::largest(program.symbols);
}

const program::TableEntry* Planning::entry_of(const ir::State& state) const {
  const auto copy = copy_of.find(state.name);
  return copy == copy_of.end() ? table.find(state.name)
                               : table.find_copy(copy->second, state.type.dtype);
}

std::span<const Stage> stages() { return kStages; }

std::vector<std::string> stage_names() {
  std::vector<std::string> names;
  for (const Stage& stage : kStages) names.emplace_back(stage.name);
  return names;
}

void run_stages(Planning& planning, const StageOptions& options) {
  for (const Stage& stage : kStages) {
    const auto start = std::chrono::steady_clock::now();
    stage.run(planning);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    planning.program.seconds[std::string(stage.name)] = taken.count();
    if (options.after_each) options.after_each(stage, planning);
    if (stage.name == options.stop_after) break;
  }
}

std::string text_after(const ir::Graph& graph, const Target& target, const Options& options,
                       const std::string& name, const program::StateTable& table) {
  const auto stage = std::find_if(std::begin(kStages), std::end(kStages),
                                  [&](const Stage& s) { return s.name == name; });
  if (stage == std::end(kStages)) {
    fail("there is no stage '", name, "'.", suggestion(name, stage_names()), " The stages are ",
         join(stage_names(), ", "));
  }
  Planning planning(graph, target, options, {}, table);
  run_stages(planning, {.stop_after = name});
  return stage->text(planning);
}

}  // namespace plait::plan
