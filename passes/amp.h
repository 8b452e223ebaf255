// Mixed precision: what the colours of the op table allow runs in half, the rest in f32. Feeds,
// states, next states and fetches keep their types, so trained parameters stay f32 masters.
#pragma once

#include "passes/pipeline.h"

namespace plait {

/// Colours the graph (see passes/amp_colour.h) and puts casts at the borders: one per tensor and
/// direction, where it is first needed. Only f32 is narrowed; a graph in f64 or in halves stays as
/// it is. `half` is bf16 or f16.
ir::Graph amp(const ir::Graph& graph, DType half, DecisionLog& log);

}  // namespace plait
