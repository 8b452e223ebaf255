// How much memory a schedule needs: what every value costs in its own buffer, what is alive at
// once, and what sharing addresses gives. Exact for one order; it does not choose the order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace plait::report {

/// Alive from step `first` to step `last`, both included.
struct Buffer {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t first = 0, last = 0;
};

struct MemoryFigures {
  std::int64_t keep_all_bytes = 0;  // every buffer its own
  std::int64_t peak_bytes = 0;      // the largest sum alive at one step: the lower bound
  std::int64_t peak_step = 0;
  std::vector<std::string> at_peak;  // the largest first
  std::int64_t shared_bytes =
      0;  // one arena: offsets by greedy best fit, largest first; by time if many
};

MemoryFigures memory_figures(const std::vector<Buffer>& buffers);

/// The buffers of a graph in its printed order: step = node. Views keep what they look at alive and
/// own nothing; feeds, states and constants are left out; fetches and next values live to the end.
std::vector<Buffer> buffers_of(const ir::Graph& graph);

}  // namespace plait::report
