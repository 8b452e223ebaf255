// Buffers: which views share one, how long each lives, and its offset.
#pragma once

#include "plan/draft.h"

namespace plait::plan {

/// Gives every view of the draft a buffer, every buffer an offset and every call its part of the
/// workspace; the draft's steps, in their final order, become the program's.
void place_buffers(const Sight& sight, Draft& draft, const Target& target,
                   program::Program& program);

}  // namespace plait::plan
