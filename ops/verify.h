// Checks a graph against the op table. The structure alone is checked in ir/verify.
#pragma once

#include "ir/graph.h"

namespace plait {

/// UserError naming the node when the structure is wrong (ir/verify.h), an op does not exist, its
/// operands or attributes do not fit, or a result is stated with another dtype or shape than the op
/// computes: `[relu] states f32[3], computes f32[4] (%relu0 @ path)`. Opaque nodes are taken at
/// their word.
void verify_types(const ir::Graph& graph);

/// UserError when two graphs count the steps of Adam in one state, but update other parameters: its
/// correction would be that of another number of updates.
void verify_step_counters(const ir::Package& package);

}  // namespace plait
