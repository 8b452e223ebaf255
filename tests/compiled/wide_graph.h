// Random graphs over tensors large enough to be cut into tasks, tiles and rows, of ops that keep
// numbers small: what tests/passes/random_graph.h does for every dtype and corner, for size.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace plait::test {

ir::Graph wide_graph(std::uint64_t seed, int steps = 10);

}  // namespace plait::test
