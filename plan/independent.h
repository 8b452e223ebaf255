// Which steps of a draft need nothing of each other.
#pragma once

#include <map>
#include <vector>

#include "plan/draft.h"

namespace plait::plan {

class Independence {
 public:
  explicit Independence(const ir::Graph& graph);
  /// Whether `step` advances a state whose value before `reader` reads.
  bool overwrites(const DraftStep& step, const DraftStep& reader) const;
  /// Whether `moved`, which comes before, may run behind `passed` as well.
  bool may_pass(const DraftStep& moved, const DraftStep& passed) const;
  /// Whether both may run together; `first` comes before.
  bool together(const DraftStep& first, const DraftStep& second) const;

 private:
  std::map<ir::ValueId, ir::ValueId> old_of_;  // by the value that a state becomes
};

}  // namespace plait::plan
