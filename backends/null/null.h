// The null backend: everything but the arithmetic. Results have the right types and are zero, so
// that compiling, planning and running can be tested without computing.
#pragma once

#include "backends/backend.h"

namespace plait {

class NullBackend : public Backend {
 public:
  std::string_view name() const override { return "null"; }
  Decision supports(const Op&) const override { return Decision::allow(); }
  std::vector<Array> execute(const NodeView& node,
                             const std::vector<const Array*>& inputs) override;
};

}  // namespace plait
