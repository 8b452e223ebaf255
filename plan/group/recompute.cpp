// Candidates are pairs of a value and what can be made of it; those that save most go first. Each
// is judged by what it does to memory (bytes kept times how long) and to bytes moved.
#include "plan/group/recompute.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/at.h"
#include "loop/kernel.h"

namespace plait::plan {
namespace {

// A value this much smaller than what is made of it costs nothing to keep: a row's statistics.
constexpr std::int64_t kSmall = 32;
// Nodes that one value may be made of, where it is read.
constexpr std::size_t kMostChainNodes = 12;
// An exponential or a division costs as much as moving this many bytes, where these leave caches.
constexpr std::int64_t kExpensiveBytes = 4;
constexpr std::int64_t kLeavesCaches = 1 << 20;

/// A value and those that could be made of it.
struct Candidate {
  ir::ValueId from;  // kNone: of states and of what is kept anyway
  std::vector<ir::ValueId> values;
  bool cheap;  // nothing expensive is computed again
};

/// How a value is made where it is read.
struct Recipe {
  std::set<ir::NodeId> nodes;
  std::set<ir::ValueId> operands;  // in memory
};

/// What it does to make values again.
struct Effect {
  double kept = 0;         // bytes saved, times the kernels they would lie there for
  double moved = 0;        // bytes saved
  double evaluations = 0;  // of expensive operations, more than before
  std::set<ir::NodeId> nodes;
  std::set<ir::ValueId> operands;

  bool pays() const {
    return !nodes.empty() && kept >= 0 && moved >= 0 && kept + moved > 0 &&
           moved >= kExpensiveBytes * evaluations;
  }
};

class Again {
 public:
  Again(const GroupContext& context, DecisionLog& log)
      : context_(context), log_(log), again_(context.graph.nodes.size(), 0) {
    stored_ = context.grouping.stored;
    pinned_.assign(context.graph.values.size(), 0);
    find_readers();
  }

  std::vector<char> run() {
    const auto kernels = static_cast<double>(context_.grouping.groups.size());
    std::vector<std::pair<double, Candidate>> ranked;
    for (Candidate& c : candidates()) {
      const Effect e = effect_of(c);
      if (e.pays()) ranked.emplace_back(e.kept / kernels + e.moved, std::move(c));
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [gain, c] : ranked) {
      const Effect e = effect_of(c);
      if (e.pays()) take(c, e);
    }
    return std::move(again_);
  }

 private:
  int group_of(ir::NodeId n) const {
    return n == ir::kNone ? -1 : context_.grouping.group_of[at(n)];
  }
  ir::NodeId maker(ir::ValueId v) const { return context_.graph.value(v).producer; }
  double bytes(ir::ValueId v) const {
    return static_cast<double>(context_.graph.type(v).bytes().hi());
  }
  int end(ir::ValueId v) const { return readers_[at(v)].empty() ? 0 : *readers_[at(v)].rbegin(); }
  int begin(ir::ValueId v) const { return std::max(0, group_of(maker(v))); }
  bool is_constant(ir::NodeId n) const { return context_.facts(n).kind == Kind::kConstant; }
  bool is_virtual(ir::NodeId n) const { return group_of(n) < 0 || again_[at(n)]; }

  /// Which kernels read each value in memory.
  void find_readers() {
    readers_.resize(context_.graph.values.size());
    for (std::size_t n = 0; n < context_.graph.nodes.size(); ++n) {
      const int g = context_.grouping.group_of[n];
      if (g < 0) continue;
      for (const Read& r : reads_of(context_, static_cast<ir::NodeId>(n))) {
        if (group_of(maker(r.value)) != g) readers_[at(r.value)].insert(g);
      }
    }
  }

  /// Whether all who read a value can make it themselves: generated loops that walk no more
  /// points than it has.
  bool is_makable(ir::ValueId v) const {
    const std::int64_t mine = context_.graph.type(v).elements().hi();
    const auto makes = [&](ir::NodeId reader) {
      const NodeFacts& f = context_.facts(reader);
      if (f.kind == Kind::kJoin) return true;
      if (f.kind != Kind::kMove && f.kind != Kind::kPoint && f.kind != Kind::kReduce) return false;
      if (point_count(f.nest).hi() > mine) return false;
      return group_of(reader) >= 0 || is_makable(context_.result(reader));
    };
    const auto& readers = context_.readers[at(v)];
    return !context_.kept[at(v)] && std::all_of(readers.begin(), readers.end(), makes);
  }

  bool may_vanish(ir::NodeId n) {
    const NodeFacts& f = context_.facts(n);
    if (f.kind != Kind::kPoint || !f.nest.loaded.empty() || pinned_[at(context_.result(n))]) {
      return false;
    }
    const auto known = makable_.find(n);
    if (known != makable_.end()) return known->second;
    return makable_[n] = is_makable(context_.result(n));
  }

  bool is_small(ir::ValueId u, ir::ValueId beside) const {
    return bytes(u) * kSmall <= bytes(beside);
  }

  template <class Visit>
  void each_operand(ir::NodeId n, Visit visit) const {
    for (const loop::Access& a : context_.facts(n).nest.loads) {
      visit(context_.node(n).inputs[at(a.operand)]);
    }
  }

  std::vector<Candidate> candidates() {
    std::map<ir::ValueId, std::vector<ir::ValueId>> of;
    std::vector<Candidate> out;
    for (std::size_t i = 0; i < stored_.size(); ++i) {
      const auto v = static_cast<ir::ValueId>(i);
      if (!stored_[i] || maker(v) == ir::kNone || !may_vanish(maker(v))) continue;
      out.push_back({ir::kNone, {v}, false});
      std::set<ir::ValueId> seen;
      std::vector<ir::NodeId> work{maker(v)};
      while (!work.empty() && seen.size() < 2 * kMostChainNodes) {
        const ir::NodeId n = work.back();
        work.pop_back();
        each_operand(n, [&](ir::ValueId u) {
          const ir::NodeId by = maker(u);
          if (by == ir::kNone || is_constant(by) || is_small(u, v) || !seen.insert(u).second)
            return;
          if (!is_virtual(by)) of[u].push_back(v);
          if (is_virtual(by) || may_vanish(by)) work.push_back(by);
        });
      }
    }
    for (auto& [u, values] : of) {
      out.push_back({u, values, true});
      out.push_back({u, std::move(values), false});
    }
    return out;
  }

  /// How v is made of `from`, with states, small values and what is kept as long anyway. `gone`:
  /// nodes that are made again too; what else is in memory is no step on the way.
  std::optional<Recipe> recipe_of(ir::ValueId v, const Candidate& c,
                                  const std::set<ir::NodeId>& gone) {
    Recipe recipe;
    std::vector<ir::NodeId> work{maker(v)};
    bool can = may_vanish(maker(v));
    const auto visit = [&](ir::ValueId u) {
      const ir::NodeId by = maker(u);
      if (by == ir::kNone) recipe.operands.insert(u);
      if (by == ir::kNone || is_constant(by)) return;
      const bool made = is_virtual(by) || gone.count(by);
      const bool lasts = stored_[at(u)] && end(u) >= end(v);
      if (!made && (u == c.from || lasts || is_small(u, v))) {
        recipe.operands.insert(u);
      } else {
        can = can && (made || (!stored_[at(u)] && may_vanish(by)));
        work.push_back(by);
      }
    };
    while (can && !work.empty()) {
      const ir::NodeId n = work.back();
      work.pop_back();
      if (!recipe.nodes.insert(n).second) continue;
      const NodeFacts& f = context_.facts(n);
      can = f.nest.loaded.empty() && recipe.nodes.size() <= kMostChainNodes &&
            !(c.cheap && f.expensive);
      if (can) each_operand(n, visit);
    }
    if (!can || (c.from != ir::kNone && !recipe.operands.count(c.from))) return std::nullopt;
    return recipe;
  }

  /// Kernels that read `u` for the sake of others' recipes, and do not yet.
  std::vector<int> new_readers(ir::ValueId u, const std::set<int>& readers) const {
    std::vector<int> out;
    for (int g : readers) {
      if (g != group_of(maker(u)) && !readers_[at(u)].count(g)) out.push_back(g);
    }
    return out;
  }

  /// Bytes that need not be moved when v is made again too, but for those of `from` itself.
  double moved_less(ir::ValueId v, const Recipe& recipe, const Candidate& c, const Effect& e,
                    const std::map<ir::ValueId, std::set<int>>& reads) const {
    double less = 0;
    for (ir::NodeId n : recipe.nodes) {
      const ir::ValueId r = context_.result(n);
      if (stored_[at(r)] && !e.nodes.count(n)) {
        less += bytes(r) * static_cast<double>(1 + readers_[at(r)].size());
      }
    }
    for (ir::ValueId u : recipe.operands) {
      const auto known = reads.find(u);
      for (int g : new_readers(u, readers_[at(v)])) {
        if (known == reads.end() || !known->second.count(g)) less -= bytes(u);
      }
      const bool fresh = maker(u) != ir::kNone && !stored_[at(u)] && known == reads.end();
      if (fresh && u != c.from) less -= bytes(u);
    }
    return less;
  }

  Effect effect_of(const Candidate& c) {
    Effect e;
    std::map<ir::ValueId, std::set<int>> reads;     // operands, and the kernels that will read them
    std::map<ir::NodeId, std::set<int>> expensive;  // nodes, and the kernels that will make them
    for (ir::ValueId v : c.values) {
      if (!stored_[at(v)]) continue;
      const std::optional<Recipe> recipe = recipe_of(v, c, e.nodes);
      if (!recipe || moved_less(v, *recipe, c, e, reads) < 0) continue;
      const std::set<int>& readers = readers_[at(v)];
      for (ir::NodeId n : recipe->nodes) {
        if (!is_virtual(n)) e.nodes.insert(n);
        if (context_.facts(n).expensive) expensive[n].insert(readers.begin(), readers.end());
      }
      for (ir::ValueId u : recipe->operands) reads[u].insert(readers.begin(), readers.end());
    }
    for (ir::NodeId n : e.nodes) {
      const ir::ValueId v = context_.result(n);
      if (!stored_[at(v)]) continue;
      e.kept += bytes(v) * (end(v) - begin(v) + 1);
      e.moved += bytes(v) * static_cast<double>(1 + readers_[at(v)].size());
    }
    for (const auto& [u, by] : reads) {
      e.operands.insert(u);
      e.moved -= bytes(u) * static_cast<double>(new_readers(u, by).size());
      if (maker(u) == ir::kNone || by.empty()) continue;
      const int last = std::max(end(u), *by.rbegin());
      if (!stored_[at(u)]) e.moved -= bytes(u);
      e.kept -= bytes(u) * (stored_[at(u)] ? last - end(u) : last - begin(u) + 1);
    }
    for (const auto& [n, by] : expensive) e.evaluations += evaluations(n, by, e.nodes);
    return e;
  }

  /// Of an expensive node by the kernels that make it again, less its own where all that read it
  /// there are gone. Short values stay in caches: to compute them again never pays.
  double evaluations(ir::NodeId n, const std::set<int>& by,
                     const std::set<ir::NodeId>& gone) const {
    const ir::ValueId v = context_.result(n);
    const auto& readers = context_.readers[at(v)];
    const bool own = !std::all_of(readers.begin(), readers.end(),
                                  [&](ir::NodeId reader) { return gone.count(reader) > 0; });
    if (bytes(v) < kLeavesCaches) return 1e30;
    const auto times = static_cast<double>(by.size()) - (own ? 0 : 1);
    return static_cast<double>(context_.graph.type(v).elements().hi()) * times;
  }

  void take(const Candidate& c, const Effect& e) {
    for (ir::NodeId n : e.nodes) {
      const ir::ValueId v = context_.result(n);
      if (stored_[at(v)]) {
        const std::string of =
            c.from == ir::kNone ? "what is stored anyway" : "%" + context_.graph.value(c.from).name;
        log_.push_back({"group", describe(context_.graph, context_.node(n)), "recomputed",
                        str("where it is read, from ", of, ": fewer bytes are stored and moved")});
        for (ir::ValueId u : e.operands) {
          readers_[at(u)].insert(readers_[at(v)].begin(), readers_[at(v)].end());
        }
      }
      again_[at(n)] = 1;
      stored_[at(v)] = 0;
    }
    for (ir::ValueId u : e.operands) {
      pinned_[at(u)] = 1;
      if (maker(u) != ir::kNone) stored_[at(u)] = 1;
    }
  }

  const GroupContext& context_;
  DecisionLog& log_;
  std::vector<char> again_;             // per node
  std::vector<char> stored_, pinned_;   // per value; pinned: others are made of it
  std::vector<std::set<int>> readers_;  // per value: kernels that read it in memory
  std::map<ir::NodeId, bool> makable_;
};

}  // namespace

std::vector<char> recomputed_where_read(const GroupContext& context, DecisionLog& log) {
  return Again(context, log).run();
}

}  // namespace plait::plan
