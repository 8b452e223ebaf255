// Recomputed steps. What is read soon and once more much later need not lie in memory in between,
// where all it is computed from lies there anyway: it is recomputed just before.
#include "plan/order/recompute.h"

#include <algorithm>
#include <map>

#include "base/at.h"
#include "plan/order/independent.h"
#include "plan/simulated.h"

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

class Recomputing {
 public:
  Recomputing(const ir::Graph& graph, Draft& draft, DecisionLog& log)
      : graph_(graph),
        draft_(draft),
        log_(log),
        steps_(graph, draft),
        stays_(draft.views.size(), false) {
    const auto stays = [&](ir::ValueId v) {
      const ViewId view = at(v) < draft.view_of.size() ? draft.view_of[at(v)] : ViewId();
      if (view.valid()) stays_[view.index()] = true;
    };
    for (const ir::Fetch& f : graph.fetches) stays(f.value);
    for (const ir::NextState& n : graph.nexts) stays(n.value);
    for (const ir::StateUse& use : graph.states) stays(use.value);
    for (const DraftStep& d : draft.steps) uses_.push_back(program::uses_of(d.step));
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
  double bytes(ViewId v) const {
    return static_cast<double>(draft_.views[v.index()].type.bytes().hi());
  }
  /// In the arena, and free when its last reader has run.
  bool is_arena(ViewId v) const { return !stays_[v.index()]; }
  int last(ViewId v) const { return readers_[v.index()].empty() ? -1 : readers_[v.index()].back(); }

  /// Who reads what, what lies there at each step, and where that is most.
  void measure() {
    readers_.assign(draft_.views.size(), {});
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      for (ViewId v : uses_[i].reads) readers_[v.index()].push_back(static_cast<int>(i));
    }
    program::Occupancy found = program::occupancy_of(schedule_of(graph_, draft_, uses_));
    alive_ = std::move(found.live);
    peak_ = found.peak_step;
  }

  /// Whether the states that a step reads are as they were until another runs.
  bool are_states_old(int step, int until) const {
    for (int i = step + 1; i < until; ++i) {
      if (steps_.overwrites(uses_[at(i)], uses_[at(step)])) return false;
    }
    return true;
  }

  Candidate candidate(int i) const {
    const DraftStep& d = draft_.steps[at(i)];
    if (!is_pointwise(d) || d.step.calls.size() != 1) return {};
    Candidate c{i, static_cast<int>(draft_.steps.size()), 0, 0};
    double made = 0;
    for (ViewId v : uses_[at(i)].writes) {
      const std::vector<int>& readers = readers_[v.index()];
      const auto late = std::upper_bound(readers.begin(), readers.end(), peak_);
      if (draft_.is_copy(v) || !is_arena(v) || late == readers.end()) return {};
      if (late != readers.begin() && late[-1] == peak_) return {};
      c.before = std::min(c.before, *late);
      made += bytes(v);
    }
    c.saved = c.moved = made;
    for (ViewId v : uses_[at(i)].reads) {
      c.moved += bytes(v);
      if (is_arena(v) && last(v) < c.before) c.saved -= bytes(v);
    }
    const auto peak = static_cast<double>(alive_[at(peak_)]);
    const bool fits = c.before < static_cast<int>(draft_.steps.size()) &&
                      static_cast<double>(alive_[at(c.before)]) + made <= peak;
    const bool pays = c.saved >= kWorth * c.moved && c.saved >= kNegligible * peak;
    return fits && pays && are_states_old(i, c.before) ? c : Candidate{};
  }

  void take(const Candidate& c) {
    DraftStep second = draft_.steps[at(c.step)];
    std::map<ViewId, ViewId> copies;
    for (ViewId v : uses_[at(c.step)].writes) copies[v] = draft_.copy(v, ".recomputed");
    stays_.resize(draft_.views.size(), false);
    log_.push_back({"order", "%" + second.step.name, "recomputed",
                    str("once more before %", draft_.steps[at(c.before)].step.name, ": ", c.saved,
                        " bytes fewer at the peak, ", c.moved, " more moved")});
    rename(second, copies);
    for (std::size_t i = at(c.before); i < draft_.steps.size(); ++i) {
      if (!rename(draft_.steps[i], copies)) continue;
      uses_[i] = program::uses_of(draft_.steps[i].step);
    }
    uses_.insert(uses_.begin() + c.before, program::uses_of(second.step));
    draft_.steps.insert(draft_.steps.begin() + c.before, std::move(second));
  }

  /// Whether the step names any of them.
  static bool rename(DraftStep& d, const std::map<ViewId, ViewId>& copies) {
    bool found = false;
    const auto other = [&](ViewId v) {
      const auto it = copies.find(v);
      if (it == copies.end()) return v;
      found = true;
      return it->second;
    };
    renumber(d.step, other);
    for (StepKernel& k : d.kernels) {
      for (ViewId& v : k.views) v = other(v);
    }
    return found;
  }

  const ir::Graph& graph_;
  Draft& draft_;
  DecisionLog& log_;
  const Independence steps_;
  std::vector<bool> stays_;                // per view: fetched, a state or a next one
  std::vector<program::Uses> uses_;        // per step
  std::vector<std::vector<int>> readers_;  // per view: steps, ascending
  std::vector<std::int64_t> alive_;        // bytes per step
  int peak_ = 0;
};

}  // namespace

void recompute_steps(const ir::Graph& graph, Draft& draft, DecisionLog& log) {
  Recomputing(graph, draft, log).run();
}

}  // namespace plait::plan
