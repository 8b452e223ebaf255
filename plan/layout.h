// Which order a value's axes have in memory. Convolutions want the channels last, whatever the
// graph's own order; what is computed pointwise around them follows, so that nothing is transposed.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "plan/facts.h"
#include "program/layout.h"

namespace plait::plan {

using program::default_layout;
using program::Layout;

struct Layouts {
  std::vector<Layout> of;  // per value

  const Layout& at(ir::ValueId id) const { return of[static_cast<std::size_t>(id)]; }
  bool is_default(ir::ValueId id) const;
};

/// Elements per step along each axis.
std::vector<Dim> strides_of(const Shape& shape, const Layout& layout);

/// Values that hand kernels touch stay in the graph's order.
Layouts choose_layouts(const ir::Graph& graph, const Facts& facts);

}  // namespace plait::plan
