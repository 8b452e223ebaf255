// What a graph computes from the rows of one large contraction: the region that slicing repeats for
// a few rows at a time. An analysis.
#pragma once

#include <unordered_map>
#include <vector>

#include "ops/split.h"

namespace plait {

/// What becomes of a part of the region's first node, node by node.
struct RegionParts {
  std::vector<NodePart> nodes;                  // as the region's
  std::unordered_map<ir::ValueId, Box> made;    // by value of the region: the part of it
  std::unordered_map<ir::ValueId, Box> needed;  // by value from outside: the part that is read
  std::unordered_map<ir::ValueId, loop::Reduce> partial;  // combined with those of other parts
};

struct Region {
  Decision fits = Decision::allow();  // why not, where the first node cannot be sliced
  ir::NodeId first = ir::kNone;
  std::vector<ir::NodeId> nodes;     // in the order of the graph
  std::vector<ir::ValueId> leaving;  // values of it that others read, that are fetched or kept
};

/// The region of a contraction: nodes that read large values of it, those between them, and large
/// operands (masks, one-hot rows) that nothing else reads. Everything that enters by rows or leaves
/// must be small beside the contraction's result, and no other large product be among them: those
/// are a network's layers. `rows`: a part of that result.
Region region_of(const ir::Graph& graph, ir::NodeId first, const Box& rows);

/// The same region for other rows; `why` says where it does not split so.
std::optional<RegionParts> parts_of(const ir::Graph& graph, const Region& region, const Box& rows,
                                    std::string& why);

}  // namespace plait
