// Composites become the smaller ops they are made of, so that a plan can fuse across their borders.
#pragma once

#include "passes/pipeline.h"

namespace plait {

/// Decomposes until only formulas, index maps and written-out ops are left, and composites that
/// `keep` allows. What a composite made keeps its module path and source; new values are named
/// after the composite's.
ir::Graph expand(const ir::Graph& graph, DecisionLog& log, const Keep& keep = {});

}  // namespace plait
