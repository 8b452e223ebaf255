// Which order a value's axes have in memory. Convolutions want the channels last, whatever the
// graph's own order; what is computed pointwise around them follows, so that nothing is transposed.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "plan/facts.h"

namespace plait::plan {

/// Axes from the outermost to the innermost in memory.
using Layout = std::vector<int>;

struct Layouts {
  std::vector<Layout> of;  // per value

  const Layout& at(ir::ValueId id) const { return of[static_cast<std::size_t>(id)]; }
  bool is_default(ir::ValueId id) const;
};

Layout default_layout(std::size_t rank);
/// Elements per step along each axis.
std::vector<Dim> strides_of(const Shape& shape, const Layout& layout);

/// Values that hand kernels touch stay in the graph's order.
Layouts choose_layouts(const ir::Graph& graph, const Facts& facts);

}  // namespace plait::plan
