// The decision log: what the compiler decided about which node, and why. Data that reaches the
// user.
#pragma once

#include <string>
#include <vector>

namespace plait {

struct LogEntry {
  std::string pass;  // the pass or the stage of planning
  std::string node;  // describe() of the node
  std::string what;  // the rule or action: `mul_one`, `folded`, `kept`
  std::string why;
};
using DecisionLog = std::vector<LogEntry>;

}  // namespace plait
