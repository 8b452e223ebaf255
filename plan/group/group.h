// Group: which nodes become one kernel. Groups are references into the graph; nothing is rewritten.
// A loop group walks one index space; reductions split that space into rows and an inner part. A
// contraction takes what follows it pointwise as its epilogue.
#pragma once

#include <vector>

#include "base/log.h"
#include "ir/graph.h"
#include "plan/facts.h"
#include "plan/layout.h"

namespace plait::plan {

struct Group {
  enum class Type { kLoop, kContract, kHand };
  Type type = Type::kLoop;
  std::vector<ir::NodeId> nodes;  // ascending; a contraction's or hand kernel's first is the anchor
  std::vector<Dim> space;         // extents of the indices the group walks
  bool split = false;             // whether `inner` is decided
  std::vector<char> inner;        // per position of `space`: walked inside a row
};

/// How a reduction of a group runs.
enum class Direction { kNone, kRow, kColumn, kBoth };

struct Grouping {
  std::vector<Group> groups;             // in an order in which each reads earlier ones
  std::vector<int> group_of;             // per node; -1 for constants and nodes made where read
  std::vector<std::vector<int>> places;  // per node: position in the space of each variable, or -1
  std::vector<Direction> directions;     // per node
  std::vector<char> stored;              // per value: has a buffer of its own

  bool is_virtual(ir::NodeId node) const { return group_of[static_cast<std::size_t>(node)] < 0; }
};

struct GroupOptions {
  bool fuse = true;       // false: every node its own kernel, for tests and comparison
  int most_nodes = 96;    // of one kernel
  int most_buffers = 30;  // that one kernel touches
  int most_columns = 8;   // sums over rows of one kernel: each takes registers in every thread
};

Grouping group(const ir::Graph& graph, const Facts& facts, const Layouts& layouts,
               const GroupOptions& options, DecisionLog& log);

/// A value read through nodes that have no kernel: where its elements come from.
struct Origin {
  ir::ValueId value;
  std::vector<Dim> index;
  std::vector<loop::Guard> guards{};
};
/// Follows moves without a kernel. `index` are indices into `value`.
Origin origin_of(const ir::Graph& graph, const Facts& facts, const Grouping& grouping,
                 ir::ValueId value, std::vector<Dim> index);

}  // namespace plait::plan
