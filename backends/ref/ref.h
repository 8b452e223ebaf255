// The reference backend: obviously right, one thread, any dtype. It defines the numbers: a node's
// result is rounded once to its dtype; formulas run in f32 (f64 for f64), reductions in f64,
// integer arithmetic wraps; composites run as their decomposition with halves widened to f32
// inside.
#pragma once

#include "backends/backend.h"

namespace plait {

class RefBackend : public Backend {
 public:
  std::string_view name() const override { return "ref"; }
  Decision supports(const Op&) const override { return Decision::allow(); }
  std::vector<Array> execute(const NodeView& node,
                             const std::vector<const Array*>& inputs) override;
};

}  // namespace plait
