// The stages of planning: the map from the graph that the passes left to the program.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/planning.h"

namespace plait::plan {

/// `text` is what a stage leaves, as people and tests read it: of the planning so far, the part
/// that this stage makes or changes.
struct Stage {
  std::string_view name;
  void (*run)(Planning&);
  std::string (*text)(const Planning&);
  std::string_view why;       // it stands here
  bool leaves_steps = false;  // kernels_text() has more of them
};

std::span<const Stage> stages();
std::vector<std::string> stage_names();

struct StageOptions {
  std::string stop_after;  // empty: none
  std::function<void(const Stage&, const Planning&)> after_each = nullptr;
};

/// Runs the stages; their seconds are in the program's.
void run_stages(Planning& planning, const StageOptions& options = {});

/// What one stage leaves of a graph that the passes left. UserError when there is no such stage.
std::string text_after(const ir::Graph& graph, const Target& target, const Options& options,
                       const std::string& stage, const program::StateTable& table = {});

}  // namespace plait::plan
