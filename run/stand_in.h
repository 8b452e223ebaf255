// Values that stand in for the initial ones of states where only their spread matters: in timing.
// They come as fast as memory is written; orthogonal matrices, say, take seconds to be made, and
// half a gigabyte of weights on the host takes longer than a GPU takes to start.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "run/session.h"

namespace plait {

/// By name. States that begin as zeros are left out; small ones and kinds without a spread get
/// their initial values, the others a row of uniform values of the same mean and deviation, to be
/// repeated (Executor::fill_state).
Arrays stand_in_values(const std::vector<ir::State>& states, std::uint64_t seed);

}  // namespace plait
