// The reference backend: obviously right, one thread, any dtype. It defines the numbers: a node's
// result is rounded once to its dtype; formulas run in f32 (f64 for f64), reductions in f64,
// integer arithmetic wraps; composites run as their decomposition with halves widened to f32
// inside. A program for it is the graph as it is, a step per node.
#pragma once

#include <memory>

#include "backends/target.h"

namespace plait {

std::unique_ptr<Target> make_ref_target();

}  // namespace plait
