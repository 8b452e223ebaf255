// Lowering of loop groups and epilogues: which loops the kernel has, then a value for every node
// that is stored or reduces.
#include "plan/lower/lower.h"

#include <algorithm>
#include <numeric>

#include "base/at.h"
#include "plan/lower/frame.h"
#include "plan/lower/space.h"
#include "plan/lower/values.h"

namespace plait::plan {
namespace {

using loop::Expr;
using loop::Kernel;
using loop::KernelOperand;
using loop::Let;

/// Of an operand of a join, along its axis.
Dim size_of(const loop::Access& piece) { return piece.guards[0].hi - piece.guards[0].lo; }

/// Positions in the order of the memory of the largest value that the group stores or reads.
std::vector<int> memory_order(const KernelFrame& frame) {
  std::vector<int> order(frame.group.space.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<int> rank(frame.group.space.size(), -1);
  int next = static_cast<int>(frame.group.space.size());
  std::size_t most = 0;
  bool ordered = false;
  for (ir::NodeId n : frame.group.nodes) {
    const std::vector<int>& places = frame.context.grouping.places[at(n)];
    const Layout& layout = frame.context.layouts.at(frame.result(n));
    std::size_t walked = 0;
    for (std::size_t d = 0; d < layout.size(); ++d) walked += places[d] >= 0;
    if (walked < most || walked == 0 ||
        (walked == most && !frame.context.grouping.stored[at(frame.result(n))])) {
      continue;
    }
    if (walked == most && ordered) continue;
    most = walked;
    ordered = frame.context.grouping.stored[at(frame.result(n))];
    std::fill(rank.begin(), rank.end(), -1);
    next = static_cast<int>(frame.group.space.size());
    for (std::size_t i = layout.size(); i-- > 0;) {
      const int p = places[at(layout[i])];
      if (p >= 0) rank[at(p)] = --next;
    }
  }
  for (std::size_t p = rank.size(); p-- > 0;) {
    if (rank[p] < 0) rank[p] = --next;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return rank[at(a)] < rank[at(b)]; });
  return order;
}

Let copy_let(const KernelFrame& frame, ir::ValueId v, const KernelOperand& value, int stage) {
  Let let;
  let.dtype = frame.context.graph.type(v).dtype;
  let.compute = loop::compute_type(let.dtype);
  let.body = Expr::load(0);
  let.operands = {value};
  let.stage = stage;
  return let;
}

/// `tap`: the node's indices that are no loops of the kernel.
void store(KernelFrame& frame, ir::NodeId n, const KernelOperand& value, const DimBindings& tap) {
  std::vector<Dim> index = frame.index_of(n);
  index.resize(frame.context.graph.type(frame.result(n)).shape.size());
  for (std::size_t v = 0; v < index.size(); ++v) {
    const auto it = tap.find(symbol_of(frame.facts(n).nest.vars[v]));
    if (it != tap.end()) index[v] = it->second;
  }
  int let = value.let;
  if (value.kind != KernelOperand::kLet) {
    let = frame.add(copy_let(frame, frame.result(n), value, frame.stage_of[n]));
  }
  frame.kernel.stores.push_back(
      {let, frame.buffer(frame.result(n), true), frame.offset(frame.result(n), index)});
}

/// Lets of one stage stand together, in the order in which they were made.
void sort_lets(Kernel& kernel) {
  std::vector<int> order(kernel.lets.size()), number(kernel.lets.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return kernel.lets[at(a)].stage < kernel.lets[at(b)].stage;
  });
  std::vector<Let> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    number[at(order[i])] = static_cast<int>(i);
    sorted.push_back(std::move(kernel.lets[at(order[i])]));
  }
  for (Let& let : sorted) {
    for (KernelOperand& o : let.operands) {
      if (o.kind == KernelOperand::kLet) o.let = number[at(o.let)];
    }
  }
  for (loop::KernelStore& s : kernel.stores) s.let = number[at(s.let)];
  kernel.lets = std::move(sorted);
}

/// The loops are settled: makes the values and the stores.
Lowered finish(KernelFrame& frame) {
  KernelValues values(frame);
  for (ir::NodeId n : frame.group.nodes) frame.settle_stage(n);
  for (ir::NodeId n : frame.group.nodes) {
    const bool reduces = frame.direction(n) != Direction::kNone;
    const bool stored = frame.context.grouping.stored[at(frame.result(n))];
    if (!reduces && !stored) continue;
    for (const DimBindings& tap : taps_of(frame.facts(n))) {
      const KernelOperand value =
          reduces ? values.reduction(n, tap)
                  : values.value_of(frame.result(n), frame.index_of(n), frame.stage_of[n], {});
      if (stored) store(frame, n, value, tap);
    }
  }
  for (const auto& [n, stage] : frame.stage_of) {
    frame.kernel.stages = std::max(frame.kernel.stages, stage + 1);
  }
  sort_lets(frame.kernel);
  if (frame.product) frame.kernel.epilogue = false;
  collapse(frame.kernel);
  return {std::move(frame.kernel), std::move(frame.values), false};
}

/// Loops over a space in the order of memory; those of `inner` inside the others.
void add_loops(KernelFrame& frame, const std::vector<int>& order, const std::vector<Dim>& extents,
               const std::vector<char>& inner) {
  frame.at_place.resize(extents.size());
  for (int p : order) {
    auto& list = inner[at(p)] ? frame.kernel.inner : frame.kernel.rows;
    list.push_back({str(inner[at(p)] ? "$i" : "$r", list.size()), extents[at(p)]});
    frame.at_place[at(p)] = loop::symbol_of(list.back());
  }
}

/// The group where the join that it begins with is its operand `piece`.
Lowered lower_piece(const PlanContext& context, const Group& group, const loop::Access& piece) {
  KernelFrame frame(context, group);
  frame.piece = &piece;
  frame.kernel.open = true;
  const ir::NodeId join = group.nodes.front();
  const int axis = context.grouping.places[at(join)][at(frame.facts(join).nest.joined)];
  const std::vector<int> order = memory_order(frame);
  std::vector<Dim> extents = group.space;
  std::vector<char> inner = group.inner;
  if (!group.split && !order.empty()) inner[at(order.back())] = 1;
  if (axis >= 0) extents[at(axis)] = size_of(piece);
  add_loops(frame, order, extents, inner);
  if (axis >= 0) frame.at_place[at(axis)] = frame.at_place[at(axis)] + piece.guards[0].lo;
  Lowered out = finish(frame);
  out.interleaved = axis >= 0 && order.front() != axis;
  return out;
}

}  // namespace

Lowered lower_loops(const PlanContext& context, const Group& group) {
  KernelFrame frame(context, group);
  check(group.type != Group::Type::kHand, "a hand kernel has no loops");
  std::vector<int> order = memory_order(frame);
  std::vector<Dim> extents = group.space;
  std::vector<char> inner = group.inner;
  bool split = group.split;
  const ir::NodeId anchor = group.nodes.front();
  frame.places_of_anchor = context.grouping.places[at(anchor)];
  if (group.type == Group::Type::kContract) {  // sums in rows of one result each
    inner.assign(extents.size(), 0);
    split = true;
    const loop::Nest& nest = context.facts[at(anchor)].nest;
    for (std::size_t v = 0; v < nest.vars.size(); ++v) {
      if (!nest.vars[v].reduced || nest.vars[v].extent.is(1)) continue;
      frame.places_of_anchor[v] = static_cast<int>(extents.size());
      order.push_back(static_cast<int>(extents.size()));
      extents.push_back(nest.vars[v].extent);
      inner.push_back(1);
    }
  }
  if (!split && !order.empty()) inner[at(order.back())] = 1;
  add_loops(frame, order, extents, inner);
  return finish(frame);
}

std::vector<Lowered> lower_pieces(const PlanContext& context, const Group& group) {
  const loop::Nest& nest = context.facts[at(group.nodes.front())].nest;
  std::vector<Lowered> out;
  for (const loop::Access& piece : nest.loads) {
    const bool last = &piece == &nest.loads.back();
    if (size_of(piece).is(0) && !(last && out.empty())) continue;
    out.push_back(lower_piece(context, group, piece));
  }
  return out;
}

Lowered lower_epilogue(const PlanContext& context, const Group& group, const ContractPart& part,
                       bool along_m) {
  KernelFrame frame(context, group);
  frame.kernel.epilogue = true;
  frame.kernel.batch_rows = static_cast<int>(part.batch.size());
  frame.kernel.rows = part.batch;
  const auto& rows = along_m ? part.n : part.m;
  frame.kernel.rows.insert(frame.kernel.rows.end(), rows.begin(), rows.end());
  frame.kernel.inner = along_m ? part.m : part.n;
  frame.at_place = part.at;
  return finish(frame);
}

Lowered lower_separate_epilogue(const PlanContext& context, const Group& group,
                                const ContractPart& part, DType dtype) {
  KernelFrame frame(context, group);
  frame.kernel.epilogue = true;
  frame.kernel.buffers.push_back({dtype, false});
  frame.values.push_back(ir::kNone);
  const loop::Contraction& c = part.contraction;
  std::vector<std::pair<Dim, loop::KernelIndex>> indices;  // how far each moves in the result
  const auto add = [&](const auto& axes, const std::vector<loop::KernelIndex>& names) {
    for (std::size_t i = 0; i < axes.size(); ++i) indices.push_back({axes[i].c, names[i]});
  };
  add(c.batch, part.batch);
  add(c.m, part.m);
  add(c.n, part.n);
  std::stable_sort(indices.begin(), indices.end(),
                   [](const auto& x, const auto& y) { return x.first.hi() > y.first.hi(); });
  Dim offset = c.c0;
  for (const auto& [step, index] : indices) offset = offset + step * loop::symbol_of(index);
  frame.product = loop::KernelLoad{0, offset};
  for (const auto& [step, index] : indices) frame.kernel.rows.push_back(index);
  frame.kernel.inner = {frame.kernel.rows.back()};
  frame.kernel.rows.pop_back();
  frame.at_place = part.at;
  return finish(frame);
}

bool is_bare(const PlanContext& context, const Group& group) {
  const ir::NodeId anchor = group.nodes.front();
  const ir::Node& node = context.graph.node(anchor);
  const bool widens =  // the sums are f32 in every kernel; what follows stores them
      context.graph.type(node.outputs[0]).dtype != context.graph.type(node.inputs[0]).dtype;
  return group.nodes.size() == 1 && !widens && !context.facts[at(anchor)].nest.finish;
}

}  // namespace plait::plan
