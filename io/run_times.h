// When each node of a graph ran: what a format that holds times is given.
#pragma once

#include <vector>

namespace plait::io {

struct NodeTime {
  double start = 0, end = 0;  // seconds from the start of the run
};

struct RunTimes {
  std::vector<NodeTime> nodes;  // by NodeId
};

}  // namespace plait::io
