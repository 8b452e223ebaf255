// Graph to program: the front door of planning.
#pragma once

#include <cstdint>
#include <string>

#include "backends/target.h"
#include "ir/graph.h"
#include "program/program.h"
#include "program/state_table.h"

namespace plait::plan {

using Options = program::PlanOptions;

/// Groups, chooses, orders, places. The graph is what the passes left, composites expanded.
/// UserError on what the target cannot run. `tuned`: what was measured for the same graph before,
/// which then makes the same program.
/// `table`: of the program that was planned before for the same package; the new one's begins with
/// it, and both run in one memory (run/memory.h). A program's own table serves to plan it again.
program::Program make_program(const ir::Graph& graph, const Target& target,
                              const Options& options = {}, const program::TuningResults& tuned = {},
                              const program::StateTable& table = {});

/// Over graph, target, options and table: programs of one hash are the same.
std::uint64_t program_hash(const ir::Graph& graph, const Target& target, const Options& options,
                           const program::StateTable& table = {});

}  // namespace plait::plan
