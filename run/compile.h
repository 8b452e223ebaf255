// Compile: a graph through the passes and the plan to a program, from the cache where the same was
// compiled before.
#pragma once

#include <optional>

#include "passes/pipeline.h"
#include "plan/make_program.h"
#include "program/program.h"

namespace plait {

struct CompileRequest {
  plan::Options plan{};
  bool use_cache = true;
  bool passes = true;                    // no: the graph is what they left, as a plan holds it
  std::optional<TuningResults> tuned{};  // of the planning to repeat
  program::StateTable table{};           // of the programs before, to share their memory
};

struct Compiled {
  program::Program program;
  bool from_cache = false;
  double seconds = 0;         // passes and planning, or reading what was kept
  double passes_seconds = 0;  // of these
};

/// What is done with a graph before it is planned for a target, which must outlive this.
PipelineOptions passes_for(const Target& target);

/// UserError on what the target cannot run.
Compiled compile(const ir::Graph& graph, const Target& target, const CompileRequest& request = {});

}  // namespace plait
