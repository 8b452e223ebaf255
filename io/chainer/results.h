// What a step returns, as Chainer sees it: results of functions, and a loss that is differentiated.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace plait::io::chainer {

struct Results {
  std::vector<ir::ValueId> told;  // fetches, without gradients of states: the backward makes them
  ir::ValueId loss = ir::kNone;   // the first float without axes that a parameter reaches
};

/// UserError when the graph returns nothing, or trains without returning its loss.
Results results_of(const ir::Graph& graph);

}  // namespace plait::io::chainer
