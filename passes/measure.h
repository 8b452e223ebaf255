// What a graph costs, by the rules of counting: parameters, operations, bytes moved and the memory
// that must exist at once. An analysis: it changes nothing and knows no hardware.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/graph.h"

namespace plait {

struct OpMeasures {
  std::int64_t count = 0;       // nodes
  std::int64_t operations = 0;  // contractions 2 per multiply-add; views, casts and gathers 0
  std::int64_t bytes = 0;       // inputs read and outputs written, each once per node
};

struct Measures {
  std::int64_t parameters = 0;  // elements of trained states
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  /// Over the order of the nodes, the largest sum of values alive at once: a node's inputs and
  /// outputs coexist, views keep what they look at alive and own nothing, nothing is in place;
  /// feeds, states and constants are left out; fetches and next values live to the end.
  std::int64_t live_peak_bytes = 0;
  std::map<std::string, OpMeasures> by_op;  // opaque ones under their own names
};

/// UserError naming the size when one is not a number.
Measures measure(const ir::Graph& graph);

}  // namespace plait
