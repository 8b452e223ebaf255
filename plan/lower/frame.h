// A group's kernel while it is made: which loops stand for which index of the group's space, in
// which stage each node is known, and the buffers and values there are so far.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "plan/lower/lower.h"

namespace plait::plan {

struct KernelFrame {
  KernelFrame(const PlanContext& context, const Group& group);

  const NodeFacts& facts(ir::NodeId n) const;
  ir::ValueId result(ir::NodeId n) const { return context.graph.node(n).outputs[0]; }
  bool is_inside(ir::NodeId n) const;
  Direction direction(ir::NodeId n) const;
  /// Of a node's variables, in the kernel's loops.
  std::vector<Dim> index_of(ir::NodeId n) const;
  /// The offset of an element of a value in its memory.
  Dim offset(ir::ValueId v, const std::vector<Dim>& index) const;

  /// Decides in which stage a node of the group is known; its operands' are decided.
  void settle_stage(ir::NodeId n);
  /// The number of a value's buffer.
  int buffer(ir::ValueId v, bool written);
  int add(loop::Let let);

  const PlanContext& context;
  const Group& group;
  int group_id;
  loop::Kernel kernel;
  std::vector<ir::ValueId> values;          // per buffer of the kernel
  std::optional<loop::KernelLoad> product;  // where a kernel apart reads it
  const loop::Access* piece = nullptr;      // of a join: the operand that stands for it
  std::vector<Dim> at_place;                // per position of the space
  std::vector<int> places_of_anchor;        // where they differ from the grouping's
  std::map<ir::NodeId, int> stage_of;
};

}  // namespace plait::plan
