// Questions to a kernel while it is made, and its growth.
#include "plan/lower/frame.h"

#include <algorithm>

#include "base/at.h"
#include "plan/lower/space.h"

namespace plait::plan {

KernelFrame::KernelFrame(const PlanContext& context, const Group& group)
    : context(context),
      group(group),
      group_id(context.grouping.group_of[at(group.nodes.front())]) {}

const NodeFacts& KernelFrame::facts(ir::NodeId n) const { return context.facts[at(n)]; }

bool KernelFrame::is_inside(ir::NodeId n) const {
  return n != ir::kNone && context.grouping.group_of[at(n)] == group_id;
}

Direction KernelFrame::direction(ir::NodeId n) const {
  if (group.type == Group::Type::kContract && n == group.nodes.front() && !kernel.epilogue) {
    return Direction::kRow;
  }
  return context.grouping.directions[at(n)];
}

std::vector<Dim> KernelFrame::index_of(ir::NodeId n) const {
  const bool anchor = n == group.nodes.front() && !places_of_anchor.empty();
  const std::vector<int>& places = anchor ? places_of_anchor : context.grouping.places[at(n)];
  std::vector<Dim> index;
  for (int p : places) index.push_back(p < 0 ? Dim(0) : at_place[at(p)]);
  return index;
}

Dim KernelFrame::offset(ir::ValueId v, const std::vector<Dim>& index) const {
  return offset_of(context.graph.type(v).shape, context.layouts.at(v), index);
}

void KernelFrame::settle_stage(ir::NodeId n) {
  int stage = 0;
  const auto visit = [&](ir::NodeId reader, auto&& self) -> void {
    for (ir::ValueId id : context.graph.node(reader).inputs) {
      const ir::NodeId by = id == ir::kNone ? ir::kNone : context.graph.value(id).producer;
      if (by == ir::kNone) continue;
      if (is_inside(by)) {
        const int after = direction(by) == Direction::kRow ? 1 : 0;
        stage = std::max(stage, stage_of[by] + after);
      } else if (context.grouping.is_virtual(by)) {
        self(by, self);
      }
    }
  };
  visit(n, visit);
  stage_of[n] = stage;
}

int KernelFrame::buffer(ir::ValueId v, bool written) {
  const auto it = std::find(values.begin(), values.end(), v);
  const auto i = static_cast<std::size_t>(it - values.begin());
  if (it == values.end()) {
    values.push_back(v);
    kernel.buffers.push_back({context.graph.type(v).dtype, false});
  }
  kernel.buffers[i].written |= written;
  return static_cast<int>(i);
}

int KernelFrame::add(loop::Let let) {
  kernel.lets.push_back(std::move(let));
  return static_cast<int>(kernel.lets.size()) - 1;
}

}  // namespace plait::plan
