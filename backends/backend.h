// The seam between a run and what does the arithmetic. `ref` defines the numbers, `null` does all
// but the arithmetic.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/array.h"
#include "ops/op.h"

namespace plait {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Whether this backend runs an op, and why not.
  virtual Decision supports(const Op& op) const = 0;
  /// Runs one node whose sizes are all numbers. Inputs are null where an operand is left out.
  /// RunError names the node.
  virtual std::vector<Array> execute(const NodeView& node,
                                     const std::vector<const Array*>& inputs) = 0;
};

}  // namespace plait
