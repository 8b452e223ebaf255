// The order of an array's axes in memory.
#pragma once

#include <numeric>
#include <vector>

#include "base/dim.h"

namespace plait::program {

/// Axes from the outermost to the innermost in memory.
using Layout = std::vector<int>;

inline Layout default_layout(std::size_t rank) {
  Layout layout(rank);
  std::iota(layout.begin(), layout.end(), 0);
  return layout;
}

}  // namespace plait::program
