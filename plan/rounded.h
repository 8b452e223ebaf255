// Rounded copies of states that are kept beside them from run to run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "ir/graph.h"

namespace plait::plan {

/// A graph whose last states are rounded copies of others.
struct Rounded {
  ir::Graph graph;
  std::vector<std::string> of;  // per copy, in their order: the state it is of
};

/// A state that the graph advances and reads as another, narrower float is read and rounded in
/// every run. Here a copy of it is a state too, and is made where the state is advanced, from what
/// is at hand there. Nothing when there is no such state.
std::optional<Rounded> keep_rounded(const ir::Graph& graph, DecisionLog& log);

}  // namespace plait::plan
