// A part of a graph as a graph of its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace plait::train {

struct Cut {
  std::string name;
  std::vector<ir::Fetch> fetches;  // values of the old graph
  bool updates = true;             // keep the next states
  bool dropout = true;
  std::map<std::string, std::string> feeds{};  // old name to new
};

/// The graph under another name with only these fetches: nodes and states that nothing then needs
/// are left out. All feeds stay; whole numbers come as i64, as data gives them, and become what
/// they were. Places of distributed documents are left out.
ir::Graph cut_out(const ir::Graph& from, const Cut& cut);

}  // namespace plait::train
