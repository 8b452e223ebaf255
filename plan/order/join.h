// Horizontal fusion: independent steps side by side.
#pragma once

#include "plan/draft.h"

namespace plait::plan {

/// A step takes another's calls, to run together with its own.
void absorb(DraftStep& to, DraftStep& from);

/// Neighbouring steps that need nothing of each other become one, whose calls run together: the
/// updates of all parameters, or small products of one input with several weights.
void join_independent(const ir::Graph& graph, Draft& draft);

}  // namespace plait::plan
