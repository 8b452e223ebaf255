// Reads and writes of steps, and states that are advanced in place.
#include "plan/independent.h"

#include <algorithm>

namespace plait::plan {
namespace {

bool has(const std::vector<ir::ValueId>& values, ir::ValueId v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

}  // namespace

Independence::Independence(const ir::Graph& graph) {
  for (const ir::NextState& n : graph.nexts) old_of_[n.value] = graph.find_state(n.state)->value;
}

bool Independence::overwrites(const DraftStep& step, const DraftStep& reader) const {
  return std::any_of(step.writes.begin(), step.writes.end(), [&](ir::ValueId v) {
    const auto old = old_of_.find(v);
    return old != old_of_.end() && has(reader.reads, old->second);
  });
}

bool Independence::may_pass(const DraftStep& moved, const DraftStep& passed) const {
  const auto reads = [&](ir::ValueId v) { return has(passed.reads, v); };
  return std::none_of(moved.writes.begin(), moved.writes.end(), reads) &&
         !overwrites(passed, moved);
}

bool Independence::together(const DraftStep& first, const DraftStep& second) const {
  return may_pass(first, second) && !overwrites(first, second);
}

}  // namespace plait::plan
