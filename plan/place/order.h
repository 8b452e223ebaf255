// Orders of buffers: sorted by size, lifetime and the like. Private to plan/place.
#pragma once

#include <array>

#include "plan/place/problem.h"

namespace plait::plan {

/// `load` is the fullest section a buffer lives in, `area` its bytes times its sections.
enum class Key { bytes, life, area, load, start, finish };

/// By the first key, then the second, then the third: the largest first; for `start` the earliest.
std::vector<int> order_by(const Problem& problem, const std::array<Key, 3>& keys);

}  // namespace plait::plan
