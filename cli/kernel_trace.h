// What a run launched: the steps of its program in order, by their kernels' ids.
#pragma once

#include <string>

#include "cli/json.h"
#include "plan/program.h"

namespace plait::cli {

/// A line that says how they run, then one for each step: number, id, name, module. Long ids are
/// shortened.
std::string kernel_trace_text(const plan::Program& program);

/// The same with whole ids, and the names of the nodes inside each step.
Json kernel_trace_json(const plan::Program& program);

/// Prints the text or, with `json`, puts "kernels" and "one_function" into `result`.
void tell_kernels(const plan::Program& program, bool json, Json& result);

}  // namespace plait::cli
