// Oracles: what an op computes, written a second time in double precision with plain loops, apart
// from its entry. The harness holds every backend's results against them.
#pragma once

#include <string_view>
#include <vector>

#include "base/array.h"
#include "ops/op.h"

namespace plait {

struct Oracle {
  std::string_view op;
  /// Floats come and go as f64, other dtypes as they are; null where an operand is left out.
  std::vector<Array> (*run)(const NodeView& node, const std::vector<const Array*>& inputs);
};

}  // namespace plait
