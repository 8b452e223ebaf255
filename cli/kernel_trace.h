// What a run launched: the steps of its program in order, by their kernels' ids.
#pragma once

#include <string>

#include "cli/json.h"
#include "program/program.h"

namespace plait::cli {

/// A line that says how they run, then one for each step: number, id, name, module. Long ids are
/// shortened.
std::string kernel_trace_text(const program::Program& program);

/// The same with whole ids, and the names of the nodes inside each step.
Json kernel_trace_json(const program::Program& program);

/// Prints the text or, with `json`, puts "kernels" and "one_function" into `result`.
void tell_kernels(const program::Program& program, bool json, Json& result);

}  // namespace plait::cli
