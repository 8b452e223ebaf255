// Results of the right type, all zero.
#include "backends/null/null.h"

namespace plait {

std::vector<Array> NullBackend::execute(const NodeView& node, const std::vector<const Array*>&) {
  std::vector<Array> outputs;
  for (const ir::Type& t : node.outputs) outputs.emplace_back(t.dtype, sizes_of(t.shape));
  return outputs;
}

}  // namespace plait
