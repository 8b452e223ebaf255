// Planning stage by stage, for `plait show --after STAGE`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/args.h"
#include "ir/graph.h"

namespace plait::cli {

/// Whether planning has a stage of this name.
bool is_stage(std::string_view name);

/// Those that leave steps, whose kernels can be shown.
std::vector<std::string> stages_of_steps();

/// What the stage that --after names leaves of the graph, on the backend that the arguments name:
/// first the passes, as they run before planning. --timing, --log and --dump go over both.
/// With --kernels steps are shown with theirs.
std::string show_stage(const ir::Graph& graph, const Args& args);

}  // namespace plait::cli
