// A draft as the simulator sees it (program/simulate.h), before anything has an address.
#pragma once

#include <vector>

#include "plan/draft.h"
#include "program/simulate.h"

namespace plait::plan {

/// Pieces are the draft's views. States and constants take nothing of the arena, nor does a next
/// state: it lands in its state's buffer. `uses` are those of the draft's steps.
program::Schedule schedule_of(const ir::Graph& graph, const Draft& draft,
                              const std::vector<program::Uses>& uses);

}  // namespace plait::plan
