// The order of groups while they grow: every group stands behind those it reads. A node may join a
// group unless one that it reads as well waits for that group; the order keeps the search for such
// a path to the groups that stand between the two.
#pragma once

#include <vector>

namespace plait::plan {

class GroupOrder {
 public:
  /// A new group, behind all there are. `needs`: the groups it reads.
  void add(const std::vector<int>& needs);
  /// Whether any of `ends` reads group g, directly or through others.
  bool leads(int g, const std::vector<int>& ends);
  /// Group g reads these as well, none of which it leads to; it moves behind them.
  void extend(int g, const std::vector<int>& needs);

 private:
  /// Marks groups behind `low` that `ends` wait for; false as soon as one of them is g.
  bool find_needed(int g, const std::vector<int>& ends, std::vector<int>& found);
  /// Groups up to `high` that wait for g, and g.
  std::vector<int> find_waiting(int g, int high);
  void connect(int g, const std::vector<int>& needs);

  std::vector<int> rank_;                        // per group
  std::vector<std::vector<int>> needs_, feeds_;  // per group: groups it reads, that read it
  std::vector<int> seen_;                        // per group: the last search that met it
  int search_ = 0;
};

}  // namespace plait::plan
