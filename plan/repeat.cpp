// Steps that run twice. What is read soon and once more much later need not lie there in between,
// where all it is made of lies there anyway: it is made again just before.
#include <algorithm>
#include <map>
#include <set>

#include "base/at.h"
#include "plan/independent.h"
#include "plan/memory.h"

namespace plait::plan {
namespace {

// Bytes at the peak that a byte moved once more must save. One value of another of its size saves a
// half and is not worth it; several of one are.
constexpr double kWorth = 0.6;
// Parts of the peak that are not looked at.
constexpr double kNegligible = 1.0 / 256;

/// A step that could run again before step `before`.
struct Candidate {
  int step = -1, before = -1;
  double saved = 0, moved = 0;
};

class Repeating {
 public:
  Repeating(const ir::Graph& graph, Draft& draft, DecisionLog& log)
      : graph_(graph), draft_(draft), log_(log), steps_(graph) {
    for (const ir::Fetch& f : graph.fetches) kept_.insert(f.value);
    for (const ir::NextState& n : graph.nexts) kept_.insert(n.value);
    for (const ir::StateUse& use : graph.states) states_.insert(use.value);
  }

  void run() {
    for (;;) {
      measure();
      Candidate best;
      for (int i = 0; i < peak_; ++i) {
        const Candidate c = candidate(i);
        if (c.step >= 0 && c.saved > best.saved) best = c;
      }
      if (best.step < 0) return;
      take(best);
    }
  }

 private:
  ir::ValueId origin(ir::ValueId v) const { return v >= 0 ? v : draft_.again.at(v); }
  double bytes(ir::ValueId v) const {
    return static_cast<double>(graph_.type(origin(v)).bytes().hi());
  }
  /// In the arena, and free when its last reader has run.
  bool is_arena(ir::ValueId v) const { return !states_.count(v) && !kept_.count(v); }
  int last(ir::ValueId v) const { return readers_.at(v).empty() ? -1 : readers_.at(v).back(); }

  /// Who reads what, what lies there at each step, and where that is most.
  void measure() {
    readers_.clear();
    std::map<ir::ValueId, int> made;
    const int count = static_cast<int>(draft_.steps.size());
    for (int i = 0; i < count; ++i) {
      for (ir::ValueId v : draft_.steps[at(i)].reads) readers_[v].push_back(i);
      for (ir::ValueId v : draft_.steps[at(i)].writes) {
        made.emplace(v, i);
        readers_[v];
      }
    }
    std::vector<double> change(at(count) + 1, 0);
    for (const auto& [v, step] : made) {
      if (!is_arena(v)) continue;
      change[at(step)] += bytes(v);
      change[at(std::max(step, last(v))) + 1] -= bytes(v);
    }
    alive_.assign(at(count), 0);
    double sum = 0;
    for (int i = 0; i < count; ++i) alive_[at(i)] = sum += change[at(i)];
    peak_ = static_cast<int>(std::max_element(alive_.begin(), alive_.end()) - alive_.begin());
  }

  /// Whether the states that a step reads are as they were until another runs.
  bool are_states_old(const DraftStep& d, int step, int until) const {
    for (int i = step + 1; i < until; ++i) {
      if (steps_.overwrites(draft_.steps[at(i)], d)) return false;
    }
    return true;
  }

  Candidate candidate(int i) const {
    const DraftStep& d = draft_.steps[at(i)];
    if (d.step.kind != "pointwise" || d.step.calls.size() != 1) return {};
    Candidate c{i, static_cast<int>(draft_.steps.size()), 0, 0};
    double made = 0;
    for (ir::ValueId v : d.writes) {
      const std::vector<int>& readers = readers_.at(v);
      const auto late = std::upper_bound(readers.begin(), readers.end(), peak_);
      if (v < 0 || !is_arena(v) || late == readers.end()) return {};
      if (late != readers.begin() && late[-1] == peak_) return {};
      c.before = std::min(c.before, *late);
      made += bytes(v);
    }
    c.saved = c.moved = made;
    for (ir::ValueId v : d.reads) {
      c.moved += bytes(v);
      if (is_arena(v) && last(v) < c.before) c.saved -= bytes(v);
    }
    const double peak = alive_[at(peak_)];
    const bool fits =
        c.before < static_cast<int>(draft_.steps.size()) && alive_[at(c.before)] + made <= peak;
    const bool pays = c.saved >= kWorth * c.moved && c.saved >= kNegligible * peak;
    return fits && pays && are_states_old(d, i, c.before) ? c : Candidate{};
  }

  void take(const Candidate& c) {
    DraftStep second = draft_.steps[at(c.step)];
    std::map<int, int> number;
    for (ir::ValueId v : second.writes) {
      const ir::ValueId copy = -2 - static_cast<ir::ValueId>(draft_.again.size());
      draft_.again[copy] = v;
      number[v] = copy;
    }
    log_.push_back({"order", "%" + second.step.name, "recomputed",
                    str("once more before %", draft_.steps[at(c.before)].step.name, ": ", c.saved,
                        " bytes fewer at the peak, ", c.moved, " more moved")});
    renumber(second, number);
    for (std::size_t i = at(c.before); i < draft_.steps.size(); ++i) {
      renumber(draft_.steps[i], number);
    }
    draft_.steps.insert(draft_.steps.begin() + c.before, std::move(second));
  }

  static void renumber(DraftStep& d, const std::map<int, int>& number) {
    const auto change = [&](int& v) {
      const auto it = number.find(v);
      if (it != number.end()) v = it->second;
    };
    for (auto* list : {&d.reads, &d.writes, &d.whole_reads}) {
      for (ir::ValueId& v : *list) change(v);
    }
    for (auto& values : d.values) {
      for (ir::ValueId& v : values) change(v);
    }
    for (Call& call : d.step.calls) each_buffer(call, change);
  }

  const ir::Graph& graph_;
  Draft& draft_;
  DecisionLog& log_;
  const Independence steps_;
  std::set<ir::ValueId> kept_, states_;
  std::map<ir::ValueId, std::vector<int>> readers_;  // steps, ascending
  std::vector<double> alive_;                        // bytes per step
  int peak_ = 0;
};

}  // namespace

void repeat_steps(const ir::Graph& graph, Draft& draft, DecisionLog& log) {
  Repeating(graph, draft, log).run();
}

}  // namespace plait::plan
