// Graph to program: the front door of planning.
#pragma once

#include <cstdint>
#include <string>

#include "backends/target.h"
#include "ir/graph.h"
#include "program/program.h"

namespace plait::plan {

using Options = program::PlanOptions;

/// Groups, chooses, orders, places. The graph is what the passes left, composites expanded.
/// UserError on what the target cannot run. `tuned`: what was measured for the same graph before,
/// which then makes the same program.
program::Program make_program(const ir::Graph& graph, const Target& target,
                              const Options& options = {},
                              const program::TuningResults& tuned = {});

/// Over graph, target and options: programs of one hash are the same.
std::uint64_t program_hash(const ir::Graph& graph, const Target& target, const Options& options);

}  // namespace plait::plan
