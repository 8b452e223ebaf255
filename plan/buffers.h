// Buffers: which views share one, how long each lives, and its offset.
#pragma once

#include <map>
#include <string>

#include "plan/draft.h"
#include "program/state_table.h"

namespace plait::plan {

/// The states that the program shares with others: those that are there already, and which of the
/// graph's states are rounded copies (of which state, by the copy's name).
struct SharedStates {
  const program::StateTable& table;
  const std::map<std::string, std::string>& copy_of;
};

/// Gives every view of the draft a buffer, every buffer an offset and every call its part of the
/// workspace; the draft's steps, in their final order, become the program's.
void place_buffers(const PlanContext& context, const SharedStates& shared, Draft& draft,
                   const Target& target, program::Program& program);

}  // namespace plait::plan
