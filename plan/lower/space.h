// Index arithmetic of planning: offsets into laid-out buffers, and lining up a node's variables
// with the index space of a kernel.
#pragma once

#include <vector>

#include "base/error.h"
#include "plan/facts.h"
#include "plan/group/group.h"
#include "plan/layout.h"

namespace plait::plan {

/// The offset, in elements, of an element of a buffer. Quotients and remainders of one index that
/// belong together (a reshape's) are one again.
Dim offset_of(const Shape& shape, const Layout& layout, const std::vector<Dim>& index);

/// Windows of at most 64 fixed points are written out, point by point.
bool is_unrolled(const loop::Nest& nest);
/// Every point of a nest's reduced variables; is_unrolled must hold.
std::vector<std::vector<std::int64_t>> reduced_points(const loop::Nest& nest);

/// Every point of a node's taps, as indices of those variables; one without any where it has none.
std::vector<DimBindings> taps_of(const NodeFacts& facts);

/// Finds a position in a kernel's space for each variable of a node.
class Aligner {
 public:
  Aligner(const NodeFacts& facts, Group& group);

  bool ok() const { return why_.empty(); }
  /// The node reads, at these variables, a value whose axes stand at these positions.
  void pair(const std::vector<int>& var_of_dim, const std::vector<int>& positions);
  /// It reads what another node of the kernel reads, at that node's variables.
  void pair_readers(const std::vector<int>& mine, const std::vector<int>& theirs,
                    const std::vector<int>& their_positions);
  /// Variables that nothing fixed take free positions of their extent, or new inner ones.
  Decision finish(std::vector<int>& places);

 private:
  void set(int var, int position);

  const NodeFacts& facts_;
  Group& group_;
  std::vector<int> places_;  // -2: open
  std::string why_;
};

}  // namespace plait::plan
