// What flows back to one value from those who read it. Gradients of slices, which are zero but for
// their own part, are joined where they do not overlap: to add them up would walk all of the value
// once for each.
#pragma once

#include <vector>

#include "ops/tensor.h"

namespace plait {

class Cotangent {
 public:
  void add(const Tensor& g);
  /// The sum of what there is; appends the nodes that it takes.
  Tensor total();

 private:
  /// A gradient that is zero outside of [start, stop) of an axis.
  struct Part {
    Tensor whole, part;
    int axis = 0;
    std::int64_t start = 0, stop = 0;
  };
  bool take_part(const Tensor& g);
  Tensor joined(const std::vector<Part>& layer) const;

  Tensor sum_;
  std::vector<Part> parts_;  // of one axis
};

}  // namespace plait
