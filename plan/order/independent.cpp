// Reads and writes of steps, and states that are advanced in place.
#include "plan/order/independent.h"

#include <algorithm>

#include "base/at.h"

namespace plait::plan {
namespace {

using program::Uses;
using program::uses_of;

bool has(const std::vector<ViewId>& views, ViewId v) {
  return std::find(views.begin(), views.end(), v) != views.end();
}

}  // namespace

Independence::Independence(const ir::Graph& graph, const Draft& draft) {
  const auto view_of = [&](ir::ValueId v) {
    return at(v) < draft.view_of.size() ? draft.view_of[at(v)] : ViewId();
  };
  for (const ir::NextState& n : graph.nexts) {
    const ViewId next = view_of(n.value);
    if (next.valid()) old_of_[next] = view_of(graph.find_state(n.state)->value);
  }
}

bool Independence::overwrites(const Uses& step, const Uses& reader) const {
  return std::any_of(step.writes.begin(), step.writes.end(), [&](ViewId v) {
    const auto old = old_of_.find(v);
    return old != old_of_.end() && has(reader.reads, old->second);
  });
}

bool Independence::may_pass(const Uses& moved, const Uses& passed) const {
  const auto reads = [&](ViewId v) { return has(passed.reads, v); };
  return std::none_of(moved.writes.begin(), moved.writes.end(), reads) &&
         !overwrites(passed, moved);
}

bool Independence::independent(const Uses& first, const Uses& second) const {
  return may_pass(first, second) && !overwrites(first, second);
}

}  // namespace plait::plan
