// Why no gradient of a loss reaches a value it is computed from: the node where the path back ends.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace plait {

/// The node nearest to the loss that passes no gradient on towards `from`, and why:
/// `%argmax @ head (net.cpp:12): argmax makes i64 of f32, ...`. Empty when the loss is not computed
/// from any of them. `received` says which values a gradient reached (passes/differentiate.h).
std::string where_gradient_ends(const ir::Graph& graph, ir::ValueId loss,
                                const std::vector<ir::ValueId>& from,
                                const std::vector<bool>& received);

}  // namespace plait
