// Which values are stored, and the order of the groups.
#include "plan/group_sort.h"

#include <set>

#include "base/error.h"

namespace plait::plan {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void mark_reads(const GroupSight& sight, Grouping& grouping, ir::NodeId n) {
  const int g = grouping.group_of[at(n)];
  if (g < 0) return;
  for (const Origin& o : origins_of(sight, n)) {
    const ir::NodeId by = sight.graph.value(o.value).producer;
    if (by == ir::kNone || grouping.group_of[at(by)] < 0) continue;
    const bool anchor = grouping.groups[at(g)].type == Group::Type::kContract &&
                        sight.facts(n).kind == Kind::kContract;
    if (grouping.group_of[at(by)] != g || anchor) grouping.stored[at(o.value)] = 1;
  }
  if (sight.facts(n).kind == Kind::kHand) {
    for (ir::ValueId id : sight.node(n).outputs) grouping.stored[at(id)] = 1;
  }
}

}  // namespace

void mark_stored(const GroupSight& sight, Grouping& grouping) {
  for (std::size_t i = 0; i < sight.graph.nodes.size(); ++i) {
    mark_reads(sight, grouping, static_cast<ir::NodeId>(i));
  }
  for (std::size_t v = 0; v < sight.kept.size(); ++v) {
    const ir::NodeId by = sight.graph.values[v].producer;
    if (sight.kept[v] && by != ir::kNone && grouping.group_of[at(by)] >= 0) grouping.stored[v] = 1;
  }
}

void sort_groups(const GroupSight& sight, Grouping& grouping) {
  const std::size_t count = grouping.groups.size();
  std::vector<std::set<int>> needs(count), needed_by(count);
  for (std::size_t i = 0; i < sight.graph.nodes.size(); ++i) {
    const int g = grouping.group_of[i];
    if (g < 0) continue;
    for (const Origin& o : origins_of(sight, static_cast<ir::NodeId>(i))) {
      const ir::NodeId by = sight.graph.value(o.value).producer;
      const int h = by == ir::kNone ? -1 : grouping.group_of[at(by)];
      if (h < 0 || h == g) continue;
      needs[at(g)].insert(h);
      needed_by[at(h)].insert(g);
    }
  }
  std::set<std::pair<ir::NodeId, int>> ready;
  std::vector<std::size_t> open(count);
  std::size_t live = 0;
  for (std::size_t g = 0; g < count; ++g) {
    open[g] = needs[g].size();
    if (grouping.groups[g].nodes.empty()) continue;
    ++live;
    if (open[g] == 0) ready.insert({grouping.groups[g].nodes.front(), static_cast<int>(g)});
  }
  std::vector<Group> sorted;
  std::vector<int> number(count, -1);
  while (!ready.empty()) {
    const int g = ready.begin()->second;
    ready.erase(ready.begin());
    number[at(g)] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(grouping.groups[at(g)]));
    for (int h : needed_by[at(g)]) {
      if (--open[at(h)] == 0) ready.insert({grouping.groups[at(h)].nodes.front(), h});
    }
  }
  check(sorted.size() == live, "groups of nodes wait for each other");
  for (int& g : grouping.group_of) {
    if (g >= 0) g = number[at(g)];
  }
  grouping.groups = std::move(sorted);
}

}  // namespace plait::plan
