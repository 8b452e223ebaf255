// The layers of a graph and the nodes that carry gradients back through each: three products of
// ours that are one LinearBwd of the format.
#pragma once

#include <vector>

#include "io/aicf/pattern.h"

namespace plait::io::aicf {

struct LayerGradients {
  Patterns::Layer layer;
  ir::ValueId dy = ir::kNone;  // of what the layer makes; kNone when nothing flows back
  ir::ValueId dx = ir::kNone, dw = ir::kNone, db = ir::kNone;  // kNone where not computed
  ir::NodeId first = ir::kNone;                                // the first node of these
  Match covered{};                                             // all of them; not the layer itself
};

/// In the order of the layers.
std::vector<LayerGradients> layer_gradients(const ir::Graph& graph, const Patterns& patterns);

/// Whether the node is sgd_update or adam_update.
bool is_update(const ir::Node& node);

}  // namespace plait::io::aicf
