// Slicing: what follows a contraction with a huge result (a language model's head and its loss) is
// computed for a few rows at a time, so that the result never exists as a whole.
#pragma once

#include <cstdint>

#include "passes/pipeline.h"

namespace plait {

/// Repeats the region (passes/slice_region.h) of every contraction whose result takes more than
/// `bytes`, where it has one, for slices of its rows of at most `bytes` each: as few as that takes,
/// equal ones where their number does not double for it. Rows that leave are joined; sums over rows
/// are added up slice by slice, in f32 for halves, and rounded once. Fixed sizes only.
ir::Graph slice(const ir::Graph& graph, std::int64_t bytes, DecisionLog& log);

}  // namespace plait
