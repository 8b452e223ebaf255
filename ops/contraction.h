// Which nodes are contractions: products with sums, what mixed precision always computes in half.
#pragma once

#include "ops/table.h"

namespace plait {

inline bool is_contraction(const ir::Node& node) {
  const Op* op = node.opaque ? nullptr : find_op(node.op);
  return op && op->colour == Colour::kWhite;
}

}  // namespace plait
