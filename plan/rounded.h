// Rounded copies of states that are kept beside them from run to run.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/log.h"
#include "ir/graph.h"
#include "program/state_table.h"

namespace plait::plan {

/// A graph some of whose states are rounded copies of others.
struct Rounded {
  ir::Graph graph;
  std::map<std::string, std::string> of;  // by the copy's name in this graph: the state it is of
};

/// Whether a program may add copies to the table, besides those that are there.
enum class NewCopies { kNo, kYes };

/// A state that the graph advances and reads as another, narrower float is read and rounded in
/// every run. Here a copy of it is a state too, and is made where the state is advanced, from what
/// is at hand there. A copy in the table is read wherever the graph rounds its state, and advanced
/// with it. A state of the table that a program before advances gets no new copy, since that
/// program would not advance it. Nothing when the graph stays as it is.
std::optional<Rounded> keep_rounded(const ir::Graph& graph, const program::StateTable& table,
                                    NewCopies add, DecisionLog& log);

}  // namespace plait::plan
