// Which steps of a draft need nothing of each other.
#pragma once

#include <map>
#include <vector>

#include "plan/draft.h"

namespace plait::plan {

class Independence {
 public:
  explicit Independence(const ir::Graph& graph);
  /// Whether `moved`, which comes before, may run behind `passed` as well.
  bool may_pass(const DraftStep& moved, const DraftStep& passed) const;
  /// Whether both may run together; `first` comes before.
  bool together(const DraftStep& first, const DraftStep& second) const;

 private:
  /// What the states that a step advances were before.
  std::vector<ir::ValueId> overwritten(const DraftStep& step) const;

  std::map<ir::ValueId, ir::ValueId> old_of_;  // by the value that a state becomes
};

}  // namespace plait::plan
