// The order of steps: by the graph, or greedily by what each frees.
#include "plan/order/order.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/at.h"
#include "plan/simulated.h"

namespace plait::plan {
namespace {

using program::Uses;

/// Who waits for whom, and the sizes of what they make. Lists by view hold every view of the draft.
struct Dependencies {
  std::vector<std::vector<int>> before, after;  // per step, each once
  std::vector<program::Uses> uses;              // per step
  std::vector<int> maker;                       // per view; -1: no step makes it
  std::vector<int> readers;                     // per view: how many
  std::vector<std::int64_t> bytes;              // per view: of what steps make, else 0
  std::vector<bool> kept;                       // per view: fetched, or a next state

  const Uses& uses_of(int step) const { return uses[at(step)]; }
};

class Depending {
 public:
  Depending(const ir::Graph& graph, const Draft& draft) : graph_(graph), draft_(draft) {
    const std::size_t count = draft.steps.size(), views = draft.views.size();
    d_.before.resize(count);
    d_.after.resize(count);
    d_.maker.assign(views, -1);
    d_.readers.assign(views, 0);
    d_.bytes.assign(views, 0);
    d_.kept.assign(views, false);
    readers_.resize(views);
  }

  Dependencies run() {
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) add(static_cast<int>(i));
    for (std::size_t i = 0; i < d_.uses.size(); ++i) {
      for (ViewId v : d_.uses[i].reads) {
        const int made = d_.maker[v.index()];
        if (made >= 0 && made != static_cast<int>(i)) edge(made, static_cast<int>(i));
      }
    }
    for (const ir::Fetch& f : graph_.fetches) keep(view_of(f.value));
    advance_states();
    return std::move(d_);
  }

 private:
  ViewId view_of(ir::ValueId v) const {
    return at(v) < draft_.view_of.size() ? draft_.view_of[at(v)] : ViewId();
  }
  void keep(ViewId v) {
    if (v.valid()) d_.kept[v.index()] = true;
  }

  void add(int step) {
    d_.uses.push_back(program::uses_of(draft_.steps[at(step)].step));
    for (ViewId v : d_.uses.back().writes) {
      d_.maker[v.index()] = step;
      d_.bytes[v.index()] = draft_.views[v.index()].type.bytes().hi();
    }
    for (ViewId v : d_.uses.back().reads) {
      ++d_.readers[v.index()];
      readers_[v.index()].push_back(step);
    }
  }

  void edge(int first, int second) {
    std::vector<int>& before = d_.before[at(second)];
    if (std::find(before.begin(), before.end(), first) != before.end()) return;
    before.push_back(first);
    d_.after[at(first)].push_back(second);
  }

  bool is_before(int first, int second) const {
    const std::vector<int>& before = d_.before[at(second)];
    return std::find(before.begin(), before.end(), first) != before.end();
  }

  bool depends(int on, int step) const {
    std::vector<int> work{step};
    std::set<int> seen;
    while (!work.empty()) {
      const int s = work.back();
      work.pop_back();
      if (s == on) return true;
      if (!seen.insert(s).second) continue;
      for (int b : d_.before[at(s)]) work.push_back(b);
    }
    return false;
  }

  /// A state is advanced after all that read what it was, wherever that is possible: then in place.
  void advance_states() {
    bool by_number = true;  // every edge leads from a lower number to a higher one
    for (const ir::NextState& n : graph_.nexts) {
      const ViewId next = view_of(n.value);
      const int made = next.valid() ? d_.maker[next.index()] : -1;
      if (made < 0) continue;
      keep(next);
      d_.bytes[next.index()] = 0;  // it takes the state's own buffer
      const ViewId old = view_of(graph_.find_state(n.state)->value);
      for (int reader : readers_[old.index()]) {
        if (reader == made || is_before(reader, made)) continue;
        const bool behind = reader > made;
        if ((behind || !by_number) && depends(made, reader)) continue;
        edge(reader, made);
        by_number &= !behind;
      }
    }
  }

  const ir::Graph& graph_;
  const Draft& draft_;
  Dependencies d_;
  std::vector<std::vector<int>> readers_;  // per view: steps, ascending
};

/// The largest sum of live bytes over an order.
std::int64_t peak_of(const program::Schedule& schedule, const std::vector<int>& order) {
  program::Schedule ordered = schedule;
  for (std::size_t i = 0; i < order.size(); ++i) ordered.steps[i] = schedule.steps[at(order[i])];
  return program::occupancy_of(ordered).peak_bytes;
}

template <class Better>
std::vector<int> schedule(const Dependencies& d, Better better) {
  const std::size_t count = d.before.size();
  std::vector<std::size_t> open(count);
  std::vector<int> ready, order;
  for (std::size_t i = 0; i < count; ++i) {
    open[i] = d.before[i].size();
    if (open[i] == 0) ready.push_back(static_cast<int>(i));
  }
  while (!ready.empty()) {
    const auto best = std::min_element(ready.begin(), ready.end(), better);
    const int i = *best;
    ready.erase(best);
    order.push_back(i);
    for (int next : d.after[at(i)]) {
      if (--open[at(next)] == 0) ready.push_back(next);
    }
    better.done(i);
  }
  check(order.size() == count, "steps wait for each other");
  return order;
}

struct InGraphOrder {
  bool operator()(int a, int b) const { return a < b; }
  void done(int) {}
};

/// First what frees more than it makes; ties as in the graph.
class ByBytes {
 public:
  explicit ByBytes(const Dependencies& d)
      : d_(&d), left_(std::make_shared<std::vector<int>>(d.readers)) {}
  bool operator()(int a, int b) const {
    const std::int64_t x = growth(a), y = growth(b);
    return x != y ? x < y : a < b;
  }
  void done(int i) {
    for (ViewId v : d_->uses_of(i).reads) --(*left_)[v.index()];
  }

 private:
  std::int64_t growth(int i) const {
    std::int64_t sum = 0;
    for (ViewId v : d_->uses_of(i).writes) {
      if (d_->readers[v.index()] > 0 || d_->kept[v.index()]) sum += d_->bytes[v.index()];
    }
    for (ViewId v : d_->uses_of(i).reads) {
      if ((*left_)[v.index()] == 1 && !d_->kept[v.index()]) sum -= d_->bytes[v.index()];
    }
    return sum;
  }
  const Dependencies* d_;
  std::shared_ptr<std::vector<int>> left_;
};

}  // namespace

std::vector<int> choose_order(const ir::Graph& graph, const Draft& draft, const Options& options,
                              DecisionLog& log) {
  const Dependencies d = Depending(graph, draft).run();
  std::vector<int> plain = schedule(d, InGraphOrder{});
  if (!options.reorder || draft.single_kernel) return plain;
  std::vector<int> greedy = schedule(d, ByBytes(d));
  const program::Schedule schedule = schedule_of(graph, draft, d.uses);
  const std::int64_t as_is = peak_of(schedule, plain), lower = peak_of(schedule, greedy);
  const bool change = static_cast<double>(lower) < 0.97 * static_cast<double>(as_is);
  log.push_back({"order", graph.name, change ? "changed" : "kept",
                 str("live peak ", as_is, " bytes in the graph's order, ", lower,
                     " when what frees most goes first")});
  return change ? greedy : plain;
}

}  // namespace plait::plan
