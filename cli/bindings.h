// What a program's memory is bound to: feeds, states, and all that stays where the plan put it.
#pragma once

#include <string>
#include <vector>

#include "cli/buffers.h"
#include "cli/json.h"
#include "program/program.h"

namespace plait::cli {

/// How many of each kind and their bytes, then the first of each with the place of their memory.
std::string bindings_text(const program::Program& program, const std::vector<BufferLife>& lives);

/// All of them: {"feeds": [{"name", "buffer"}...], "states": ..., "static": ...}; `buffer` counts
/// as in `plait plan --json`.
Json bindings_json(const program::Program& program, const std::vector<BufferLife>& lives);

}  // namespace plait::cli
