// Values that stand in for the initial ones of states where only their spread matters: in timing.
// They come as fast as memory is written; orthogonal matrices, say, take seconds to be made.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "run/session.h"

namespace plait {

/// By name. States that begin as zeros are left out; small ones and kinds without a spread get
/// their initial values, the others uniform values of the same mean and deviation.
Arrays stand_in_values(const std::vector<ir::State>& states, std::uint64_t seed);

}  // namespace plait
