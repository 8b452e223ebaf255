// Which order a value's axes have in memory. Convolutions want the channels last, whatever the
// graph's own order; what is computed pointwise around them follows, so that nothing is transposed.
#pragma once

#include <map>
#include <set>
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

/// What is decided already: layouts of states that other programs share, and of what becomes them.
struct Pinned {
  std::map<ir::ValueId, Layout> of;
  std::set<ir::NodeId> copies;  // nodes that write another layout than they read
};

/// Values that hand kernels touch stay in the graph's order.
Layouts choose_layouts(const ir::Graph& graph, const Facts& facts, const Pinned& pinned = {});

/// Where the layouts cannot be as they are pinned: states that a hand kernel reads in another
/// order, and next states, by number, that are made in another order than their state's.
struct LayoutClashes {
  std::set<ir::ValueId> states;
  std::set<std::size_t> nexts;
};
LayoutClashes clashes_in(const ir::Graph& graph, const Facts& facts, const Layouts& layouts);

/// The graph with a copy of each such state for all who read it, and of each such next state. What
/// is added is pinned.
ir::Graph with_copies(ir::Graph graph, const LayoutClashes& clashes, const Layouts& layouts,
                      Pinned& pinned);

}  // namespace plait::plan
