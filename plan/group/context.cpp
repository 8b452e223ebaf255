// Following reads through nodes that have no kernel.
#include "plan/group/context.h"

#include <algorithm>

#include "base/at.h"
#include "loop/kernel.h"

namespace plait::plan {

GroupContext::GroupContext(const ir::Graph& graph, const Facts& facts, const Layouts& layouts,
                           const Grouping& grouping)
    : graph(graph), all_facts(facts), layouts(layouts), grouping(grouping) {
  readers.resize(graph.values.size());
  reads.resize(graph.nodes.size());
  takers.resize(graph.values.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ir::ValueId id : graph.nodes[i].inputs) {
      if (id != ir::kNone) readers[at(id)].push_back(static_cast<ir::NodeId>(i));
    }
  }
  kept.assign(graph.values.size(), 0);
  for (const ir::Fetch& f : graph.fetches) kept[at(f.value)] = 1;
  for (const ir::NextState& s : graph.nexts) kept[at(s.value)] = 1;
}

void GroupContext::placed(ir::NodeId n) {
  const int g = grouping.group_of[at(n)];
  for (const Read& r : reads_of(*this, n)) {
    std::vector<int>& known = takers[at(r.value)];
    if (std::find(known.begin(), known.end(), g) == known.end()) known.push_back(g);
  }
}

const std::vector<Read>& reads_of(const GroupContext& context, ir::NodeId n) {
  if (context.reads[at(n)]) return *context.reads[at(n)];
  std::vector<Read>& out = context.reads[at(n)].emplace();
  for (const Origin& o : origins_of(context, n)) {
    Read r{o.value, o.guards.empty(), {}};
    const loop::Nest& nest = context.facts(n).nest;
    for (const Dim& index : o.index) {
      int var = index.is(0) ? -1 : -2;
      for (std::size_t v = 0; var == -2 && v < nest.vars.size(); ++v) {
        if (index == loop::index_symbol(nest.vars[v].name, nest.vars[v].extent)) {
          var = static_cast<int>(v);
        }
      }
      if (var == -2) r.plain = false;
      r.var_of_dim.push_back(var);
    }
    out.push_back(std::move(r));
  }
  return out;
}

std::vector<Origin> origins_of(const GroupContext& context, ir::NodeId n) {
  const NodeFacts& facts = context.facts(n);
  std::vector<Origin> out;
  const auto follow = [&](const loop::Access& a, auto&& self, const DimBindings& by,
                          ir::NodeId reader) -> void {
    std::vector<Dim> index;
    for (const Dim& d : a.index) index.push_back(d.substitute(by));
    Origin o = origin_of(context.graph, context.all_facts, context.grouping,
                         context.node(reader).inputs[at(a.operand)], index);
    if (!a.guards.empty()) o.guards.push_back(a.guards[0]);
    const ir::NodeId from = context.graph.value(o.value).producer;
    if (from == ir::kNone || context.grouping.group_of[at(from)] >= 0 ||
        context.facts(from).kind == Kind::kConstant) {
      out.push_back(std::move(o));
      return;
    }
    // Made where it is read: its own operands are what is read.
    const loop::Nest& nest = context.facts(from).nest;
    const DimBindings inner = bindings_for(nest, o.index);
    for (const loop::Access& b : nest.loads) self(b, self, inner, from);
  };
  for (const loop::Access& a : facts.nest.loads) follow(a, follow, {}, n);
  for (const loop::LoadedIndex& l : facts.nest.loaded) follow(l.from, follow, {}, n);
  if (facts.kind == Kind::kHand) {
    for (ir::ValueId id : context.node(n).inputs) {
      if (id != ir::kNone) out.push_back(Origin{id, {}});
    }
  }
  return out;
}

Origin origin_of(const ir::Graph& graph, const Facts& facts, const Grouping& grouping,
                 ir::ValueId value, std::vector<Dim> index) {
  Origin o{value, std::move(index)};
  for (;;) {
    const ir::NodeId by = graph.value(o.value).producer;
    if (by == ir::kNone || !grouping.is_virtual(by)) return o;
    const NodeFacts& f = facts[static_cast<std::size_t>(by)];
    if (f.kind != Kind::kMove) return o;
    const loop::Access& a = f.nest.loads[0];
    const DimBindings bindings = bindings_for(f.nest, o.index);
    std::vector<Dim> next;
    for (const Dim& d : a.index) next.push_back(d.substitute(bindings));
    for (const loop::Guard& g : a.guards) {
      o.guards.push_back(
          {g.index.substitute(bindings), g.lo.substitute(bindings), g.hi.substitute(bindings)});
    }
    o.value = graph.node(by).inputs[static_cast<std::size_t>(a.operand)];
    o.index = std::move(next);
  }
}

}  // namespace plait::plan
