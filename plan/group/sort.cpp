// Which values are stored, and the order of the groups.
#include "plan/group/sort.h"

#include <algorithm>
#include <set>

#include "base/at.h"
#include "base/error.h"

namespace plait::plan {
namespace {

void mark_reads(const GroupContext& context, Grouping& grouping, ir::NodeId n) {
  const int g = grouping.group_of[at(n)];
  if (g < 0) return;
  for (const Read& r : reads_of(context, n)) {
    const ir::NodeId by = context.graph.value(r.value).producer;
    if (by == ir::kNone || grouping.group_of[at(by)] < 0) continue;
    const bool anchor = grouping.groups[at(g)].type == Group::Type::kContract &&
                        context.facts(n).kind == Kind::kContract;
    if (grouping.group_of[at(by)] != g || anchor) grouping.stored[at(r.value)] = 1;
  }
  if (context.facts(n).kind == Kind::kHand) {
    for (ir::ValueId id : context.node(n).outputs) grouping.stored[at(id)] = 1;
  }
}

/// Which groups read what which others make.
struct Waiting {
  std::vector<std::set<int>> needs, needed_by;
};

Waiting waiting_of(const GroupContext& context, const Grouping& grouping) {
  Waiting w;
  w.needs.resize(grouping.groups.size());
  w.needed_by.resize(grouping.groups.size());
  for (std::size_t i = 0; i < context.graph.nodes.size(); ++i) {
    const int g = grouping.group_of[i];
    if (g < 0) continue;
    for (const Read& r : reads_of(context, static_cast<ir::NodeId>(i))) {
      const ir::NodeId by = context.graph.value(r.value).producer;
      const int h = by == ir::kNone ? -1 : grouping.group_of[at(by)];
      if (h < 0 || h == g) continue;
      w.needs[at(g)].insert(h);
      w.needed_by[at(h)].insert(g);
    }
  }
  return w;
}

/// Each group after those it needs; of those that are ready the one with the lowest key first.
std::vector<int> ordered(const Waiting& waiting, const std::vector<ir::NodeId>& key) {
  std::set<std::pair<ir::NodeId, int>> ready;
  std::vector<std::size_t> open;
  for (std::size_t g = 0; g < key.size(); ++g) {
    open.push_back(waiting.needs[g].size());
    if (open[g] == 0) ready.insert({key[g], static_cast<int>(g)});
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int g = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(g);
    for (int h : waiting.needed_by[at(g)]) {
      if (--open[at(h)] == 0) ready.insert({key[at(h)], h});
    }
  }
  check(order.size() == key.size(), "groups of nodes wait for each other");
  return order;
}

}  // namespace

void mark_stored(const GroupContext& context, Grouping& grouping) {
  for (std::size_t i = 0; i < context.graph.nodes.size(); ++i) {
    mark_reads(context, grouping, static_cast<ir::NodeId>(i));
  }
  for (std::size_t v = 0; v < context.kept.size(); ++v) {
    const ir::NodeId by = context.graph.values[v].producer;
    if (context.kept[v] && by != ir::kNone && grouping.group_of[at(by)] >= 0)
      grouping.stored[v] = 1;
  }
}

void sort_groups(const GroupContext& context, Grouping& grouping) {
  const Waiting waiting = waiting_of(context, grouping);
  // Where the graph wants a group: a product where it stands, loops where the last of them does
  // (the updates of all small parameters stay together), but before what waits for them.
  std::vector<ir::NodeId> wanted;
  for (const Group& g : grouping.groups) {
    wanted.push_back(g.type == Group::Type::kLoop ? g.nodes.back() : g.nodes.front());
  }
  const std::vector<int> any = ordered(waiting, wanted);
  for (std::size_t i = any.size(); i-- > 0;) {
    ir::NodeId& first = wanted[at(any[i])];
    for (int h : waiting.needed_by[at(any[i])]) first = std::min(first, wanted[at(h)]);
  }
  std::vector<Group> sorted;
  std::vector<int> number(grouping.groups.size(), -1);
  for (int g : ordered(waiting, wanted)) {
    number[at(g)] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(grouping.groups[at(g)]));
  }
  for (int& g : grouping.group_of) {
    if (g >= 0) g = number[at(g)];
  }
  grouping.groups = std::move(sorted);
}

}  // namespace plait::plan
