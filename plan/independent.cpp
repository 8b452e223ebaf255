// Reads and writes of steps, and states that are advanced in place.
#include "plan/independent.h"

#include <algorithm>

namespace plait::plan {
namespace {

using Values = std::vector<ir::ValueId>;

bool meet(const Values& a, const Values& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](ir::ValueId v) { return std::find(b.begin(), b.end(), v) != b.end(); });
}

}  // namespace

Independence::Independence(const ir::Graph& graph) {
  for (const ir::NextState& n : graph.nexts) old_of_[n.value] = graph.find_state(n.state)->value;
}

bool Independence::may_pass(const DraftStep& moved, const DraftStep& passed) const {
  return !meet(passed.reads, moved.writes) && !meet(moved.reads, overwritten(passed));
}

bool Independence::together(const DraftStep& first, const DraftStep& second) const {
  return may_pass(first, second) && !meet(second.reads, overwritten(first));
}

Values Independence::overwritten(const DraftStep& step) const {
  Values out;
  for (ir::ValueId v : step.writes) {
    const auto old = old_of_.find(v);
    if (old != old_of_.end()) out.push_back(old->second);
  }
  return out;
}

}  // namespace plait::plan
