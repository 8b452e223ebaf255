// Parts of tensors: what an accessor reads out of one or writes into one, and names of values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/aitemplate/kernel.h"

namespace plait::io::aitemplate {

/// What one operator writes of a tensor: elements [start, start + size) along an axis. A start of
/// -1: wherever there is room.
struct Part {
  std::int64_t start = 0, size = 0;
  Tensor value;
};

/// What the operator sees of tensor `t` through accessor `a`.
Tensor accessed(Kernel& k, const Tensor& value, const TensorRecord& t, const Accessor& a);
/// Where in `t` the accessor puts `y`; nothing when it is the whole.
std::optional<Part> written_part(Kernel& k, const Tensor& y, const TensorRecord& t,
                                 const Accessor& a);
/// The parts in the order of their places, joined along `axis`. UserError on a gap or an overlap.
Tensor joined_parts(Kernel& k, const TensorRecord& t, std::vector<Part> parts, std::int64_t axis);
/// Whether a concatenation has lost some of its inputs to the operators that make them.
bool joins_in_part(const OperatorRecord& op);

/// UserError unless the result is what the document says.
void expect(Kernel& k, const Tensor& y, const std::vector<IntVar>& shape, DType dtype,
            const std::string& name);

/// The graph with these names of values; the others are named after their node.
ir::Graph renamed(const ir::Graph& graph, const std::map<ir::ValueId, std::string>& names);

}  // namespace plait::io::aitemplate
