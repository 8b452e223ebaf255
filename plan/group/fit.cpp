// Fitting a node into a group's index space.
#include "plan/group/fit.h"

#include <algorithm>

#include "base/at.h"
#include "plan/lower/space.h"

namespace plait::plan {
namespace {

/// Members that walk part of the space walk exactly its rows.
bool splits_whole(const GroupContext& context, const Group& g) {
  for (ir::NodeId m : g.nodes) {
    std::vector<char> walked(g.space.size(), 0);
    for (int p : context.grouping.places[at(m)]) {
      if (p >= 0) walked[at(p)] = 1;
    }
    bool all = true, rows = true;
    for (std::size_t p = 0; p < walked.size(); ++p) {
      all &= walked[p] != 0;
      rows &= (walked[p] != 0) == !g.inner[p];
    }
    if (!all && !rows) return false;
  }
  return true;
}

/// The position that is innermost in the memory of the largest operand.
int innermost(const GroupContext& context, ir::NodeId n, const std::vector<int>& places) {
  int best = -1;
  std::size_t best_rank = 0;
  for (const Read& r : reads_of(context, n)) {
    if (!r.plain || r.var_of_dim.size() < best_rank) continue;
    const Layout& layout = context.layouts.at(r.value);
    for (std::size_t i = layout.size(); i-- > 0;) {
      const int var = r.var_of_dim[at(layout[i])];
      if (var < 0 || places[at(var)] < 0) continue;
      best = places[at(var)];
      best_rank = r.var_of_dim.size();
      break;
    }
  }
  return best;
}

}  // namespace

Decision align(const GroupContext& context, ir::NodeId n, int g, Group& grown,
               std::vector<int>& places) {
  const NodeFacts& f = context.facts(n);
  Aligner aligner(f, grown);
  for (const Read& r : reads_of(context, n)) {
    const ir::NodeId by = context.graph.value(r.value).producer;
    const bool inside = by != ir::kNone && context.grouping.group_of[at(by)] == g;
    if (!inside) continue;
    if (!r.plain) {
      return Decision::forbid(str("reads %", context.graph.value(r.value).name,
                                  " at other indices than it is computed at"));
    }
    if (context.facts(by).kind == Kind::kTaps) {
      return Decision::forbid(str("needs %", context.graph.value(r.value).name, ", of which each ",
                                  "element is a sum of its own there"));
    }
    const Direction dir = context.grouping.directions[at(by)];
    if (dir == Direction::kColumn || dir == Direction::kBoth) {
      return Decision::forbid(str("needs %", context.graph.value(r.value).name, " of all rows"));
    }
    aligner.pair(r.var_of_dim, context.grouping.places[at(by)]);
  }
  for (const Read& r : reads_of(context, n)) {
    if (!r.plain || !aligner.ok()) continue;
    for (ir::NodeId other : grown.nodes) {
      for (const Read& theirs : reads_of(context, other)) {
        if (theirs.value != r.value || !theirs.plain) continue;
        aligner.pair_readers(r.var_of_dim, theirs.var_of_dim, context.grouping.places[at(other)]);
      }
    }
  }
  return aligner.finish(places);
}

Decision covers(const GroupContext& context, ir::NodeId n, const Group& g,
                const std::vector<int>& places, bool epilogue) {
  std::vector<char> walked(g.space.size(), 0);
  for (std::size_t v = 0; v < at(context.facts(n).out_rank); ++v) {
    if (places[v] >= 0) walked[at(places[v])] = 1;
  }
  bool all = true, rows = true, any_inner = false;
  for (std::size_t p = 0; p < walked.size(); ++p) {
    all &= walked[p] != 0;
    if (g.split && !g.inner[p]) rows &= walked[p] != 0;
    if (g.split && g.inner[p]) any_inner |= walked[p] != 0;
  }
  if (all) return Decision::allow();
  if (epilogue) return Decision::forbid("its iteration space is smaller than the contraction's");
  if (g.split && rows && !any_inner) return Decision::allow();  // once per row
  return Decision::forbid("its iteration space is smaller than the kernel's");
}

Decision settle_direction(const GroupContext& context, ir::NodeId n, Group& g,
                          const std::vector<int>& places, bool alone, Direction& direction) {
  const NodeFacts& f = context.facts(n);
  std::vector<char> reduced(g.space.size(), 0), walked(g.space.size(), 0);
  for (std::size_t v = 0; v < f.nest.vars.size(); ++v) {
    if (places[v] < 0) continue;
    walked[at(places[v])] = 1;
    if (f.nest.vars[v].reduced) reduced[at(places[v])] = 1;
  }
  const auto all_of = [](const std::vector<char>& bits) {
    return std::all_of(bits.begin(), bits.end(), [](char b) { return b != 0; });
  };
  if (!all_of(walked)) return Decision::forbid("its iteration space is smaller than the kernel's");
  const bool every = all_of(reduced);
  if (!g.split) {
    const int last = innermost(context, n, places);
    const bool row = last < 0 || reduced[at(last)];
    if (every) {
      std::fill(g.inner.begin(), g.inner.end(), 0);
      if (last >= 0) g.inner[at(last)] = 1;
    } else {
      for (std::size_t p = 0; p < reduced.size(); ++p) g.inner[p] = row == (reduced[p] != 0);
    }
    if (!alone && !every && !splits_whole(context, g)) {
      return Decision::forbid("a node of the kernel would stand in neither rows nor inner part");
    }
    g.split = true;
  }
  Direction dir = Direction::kNone;
  std::vector<char> outer(g.inner.size());
  for (std::size_t p = 0; p < outer.size(); ++p) outer[p] = !g.inner[p];
  if (every) {
    dir = Direction::kBoth;
    if (all_of(g.inner)) dir = Direction::kRow;
  } else if (reduced == g.inner) {
    dir = Direction::kRow;
  } else if (reduced == outer) {
    dir = Direction::kColumn;
  } else {
    return Decision::forbid("it reduces other indices than the kernel's inner ones");
  }
  direction = dir;
  return Decision::allow();
}

int last_in_memory(const GroupContext& context, ir::NodeId n, const std::vector<int>& places) {
  const Layout& layout = context.layouts.at(context.result(n));
  for (std::size_t i = layout.size(); i-- > 0;) {
    if (places[at(layout[i])] >= 0) return places[at(layout[i])];
  }
  return -1;
}

}  // namespace plait::plan
