// What the stages of planning work on, from the graph that the passes left to the program. A stage
// reads what the stages before it made.
#pragma once

#include <optional>
#include <unordered_set>

#include "plan/draft.h"
#include "plan/make_program.h"
#include "plan/rounded.h"

namespace plait::plan {

struct Planning {
  Planning(const ir::Graph& graph, const Target& target, const Options& options,
           const TuningResults& tuned, const program::StateTable& table = {});
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;

  /// What is planned: the given graph, or one with copies of its states.
  const ir::Graph& graph() const { return changed ? *changed : given; }
  /// Of a state of the planned graph; null where the table has none.
  const program::TableEntry* entry_of(const ir::State& state) const;
  PlanContext context() const { return {graph(), *facts, layouts, grouping, advanced}; }

  const ir::Graph& given;
  const Target& target;
  const Options options;
  const program::StateTable table;  // that the program shares
  DimBindings largest;              // every symbol at the end of its range
  Tuning tuning;

  std::optional<ir::Graph> changed;
  std::map<std::string, std::string> copy_of;  // by the name of a rounded copy: its state
  std::optional<Facts> facts;
  std::unordered_set<ir::ValueId> advanced;  // states with a next value
  Layouts layouts;
  Grouping grouping;
  Draft draft;
  program::Program program;  // its log grows from the first stage on
};

}  // namespace plait::plan
