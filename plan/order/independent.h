// Which steps of a draft need nothing of each other.
#pragma once

#include <map>
#include <vector>

#include "plan/draft.h"

namespace plait::plan {

class Independence {
 public:
  Independence(const ir::Graph& graph, const Draft& draft);
  /// Whether `step` advances a state whose value before `reader` reads.
  bool overwrites(const program::Uses& step, const program::Uses& reader) const;
  /// Whether `moved`, which comes before, may run behind `passed` as well.
  bool may_pass(const program::Uses& moved, const program::Uses& passed) const;
  /// Whether both may run together; `first` comes before.
  bool independent(const program::Uses& first, const program::Uses& second) const;

 private:
  std::map<ViewId, ViewId> old_of_;  // by the value that a state becomes
};

}  // namespace plait::plan
