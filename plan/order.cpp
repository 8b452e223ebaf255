// The order of steps: by the graph, or greedily by what each frees.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/at.h"
#include "plan/memory.h"

namespace plait::plan {
namespace {

/// Who waits for whom, and the sizes of what they make.
struct Dependencies {
  std::vector<std::set<int>> before, after;  // per step
  std::map<ir::ValueId, int> maker;
  std::map<ir::ValueId, std::vector<int>> readers;
  std::map<ir::ValueId, std::int64_t> bytes;  // of what steps make
  std::set<ir::ValueId> kept;
};

bool depends(const Dependencies& d, int on, int step) {
  std::vector<int> work{step};
  std::set<int> seen;
  while (!work.empty()) {
    const int s = work.back();
    work.pop_back();
    if (s == on) return true;
    if (!seen.insert(s).second) continue;
    for (int b : d.before[at(s)]) work.push_back(b);
  }
  return false;
}

Dependencies dependencies_of(const ir::Graph& graph, const Draft& draft) {
  Dependencies d;
  const std::size_t count = draft.steps.size();
  d.before.resize(count);
  d.after.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (ir::ValueId v : draft.steps[i].writes) {
      d.maker[v] = static_cast<int>(i);
      d.bytes[v] = graph.type(v).bytes().hi();
    }
  }
  const auto edge = [&](int first, int second) {
    d.before[at(second)].insert(first);
    d.after[at(first)].insert(second);
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (ir::ValueId v : draft.steps[i].reads) {
      d.readers[v].push_back(static_cast<int>(i));
      const auto made = d.maker.find(v);
      if (made != d.maker.end() && made->second != static_cast<int>(i)) {
        edge(made->second, static_cast<int>(i));
      }
    }
  }
  for (const ir::Fetch& f : graph.fetches) d.kept.insert(f.value);
  // A state is advanced after all that read what it was, wherever that is possible: then in place.
  bool by_number = true;  // every edge leads from a lower number to a higher one
  for (const ir::NextState& n : graph.nexts) {
    const auto made = d.maker.find(n.value);
    if (made == d.maker.end()) continue;
    d.kept.insert(n.value);
    d.bytes[n.value] = 0;  // it takes the state's own buffer
    for (int reader : d.readers[graph.find_state(n.state)->value]) {
      if (reader == made->second || d.before[at(made->second)].count(reader)) continue;
      const bool behind = reader > made->second;
      if ((behind || !by_number) && depends(d, made->second, reader)) continue;
      edge(reader, made->second);
      by_number &= !behind;
    }
  }
  return d;
}

/// The largest sum of live bytes over an order.
std::int64_t peak_of(const Dependencies& d, const Draft& draft, const std::vector<int>& order) {
  std::map<ir::ValueId, int> left;
  for (const auto& [v, readers] : d.readers) left[v] = static_cast<int>(readers.size());
  std::int64_t live = 0, peak = 0;
  const auto size = [&](ir::ValueId v) {
    const auto it = d.bytes.find(v);
    return it == d.bytes.end() ? 0 : it->second;
  };
  for (int i : order) {
    for (ir::ValueId v : draft.steps[at(i)].writes) live += size(v);
    peak = std::max(peak, live);
    for (ir::ValueId v : draft.steps[at(i)].reads) {
      if (--left[v] == 0 && !d.kept.count(v)) live -= size(v);
    }
    for (ir::ValueId v : draft.steps[at(i)].writes) {
      if (!d.readers.count(v) && !d.kept.count(v)) live -= size(v);
    }
  }
  return peak;
}

template <class Better>
std::vector<int> schedule(const Dependencies& d, std::size_t count, Better better) {
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
  ByBytes(const Dependencies& d, const Draft& draft) : d_(&d), draft_(&draft) {
    auto left = std::make_shared<std::map<ir::ValueId, int>>();
    for (const auto& [v, readers] : d.readers) (*left)[v] = static_cast<int>(readers.size());
    left_ = std::move(left);
  }
  bool operator()(int a, int b) const {
    const std::int64_t x = growth(a), y = growth(b);
    return x != y ? x < y : a < b;
  }
  void done(int i) {
    for (ir::ValueId v : draft_->steps[at(i)].reads) --(*left_)[v];
  }

 private:
  std::int64_t size(ir::ValueId v) const {
    const auto it = d_->bytes.find(v);
    return it == d_->bytes.end() ? 0 : it->second;
  }
  std::int64_t growth(int i) const {
    std::int64_t sum = 0;
    for (ir::ValueId v : draft_->steps[at(i)].writes) {
      if (d_->readers.count(v) || d_->kept.count(v)) sum += size(v);
    }
    for (ir::ValueId v : draft_->steps[at(i)].reads) {
      if ((*left_)[v] == 1 && !d_->kept.count(v)) sum -= size(v);
    }
    return sum;
  }
  const Dependencies* d_;
  const Draft* draft_;
  std::shared_ptr<std::map<ir::ValueId, int>> left_;
};

}  // namespace

std::vector<int> choose_order(const ir::Graph& graph, const Draft& draft, const Options& options,
                              DecisionLog& log) {
  const Dependencies d = dependencies_of(graph, draft);
  const std::size_t count = draft.steps.size();
  std::vector<int> plain = schedule(d, count, InGraphOrder{});
  if (!options.reorder || draft.whole) return plain;
  std::vector<int> greedy = schedule(d, count, ByBytes(d, draft));
  const std::int64_t as_is = peak_of(d, draft, plain), lower = peak_of(d, draft, greedy);
  const bool change = static_cast<double>(lower) < 0.97 * static_cast<double>(as_is);
  log.push_back({"order", graph.name, change ? "changed" : "kept",
                 str("live peak ", as_is, " bytes in the graph's order, ", lower,
                     " when what frees most goes first")});
  return change ? greedy : plain;
}

}  // namespace plait::plan
