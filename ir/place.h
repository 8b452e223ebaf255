// Where a value lives when it is distributed: a mesh of ranks, and per mesh axis whether the value
// is split along a dimension, whole on every rank, or a partial sum. Empty means not distributed.
#pragma once

#include <string>
#include <vector>

#include "base/shape.h"

namespace plait::ir {

struct Layout {
  enum Kind { kSplit, kBroadcast, kPartial } kind = kBroadcast;
  int axis = 0;  // the dimension that is split; 0 otherwise
  bool operator==(const Layout&) const = default;
};

struct Place {
  std::string device;        // `cuda`, `cpu`; empty when not distributed
  std::vector<int> ranks;    // row-major over the mesh
  Sizes mesh;                // sizes of the mesh axes; their product is ranks.size()
  std::vector<Layout> axes;  // one per mesh axis
  bool empty() const { return device.empty(); }
  bool operator==(const Place&) const = default;
};

/// `cuda[0,1](S(0))`; a mesh of several axes shows its sizes: `cuda[0,1,2,3]{2,2}(S(0),B)`.
std::string place_text(const Place& place);

}  // namespace plait::ir
