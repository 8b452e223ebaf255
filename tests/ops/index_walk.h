// Walking over the indices of an array, for oracles.
#pragma once

#include <vector>

#include "base/array.h"
#include "ops/op.h"

namespace plait {

/// Calls f with every index of a box, the last axis fastest.
template <class F>
void for_each_index(const Sizes& sizes, F f) {
  Sizes index(sizes.size(), 0);
  const std::int64_t count = element_count(sizes);
  for (std::int64_t n = 0; n < count; ++n) {
    f(static_cast<const Sizes&>(index));
    for (std::size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
  }
}

/// Where an index lies in a row-major array.
inline std::int64_t offset_of(const Array& array, const Sizes& index) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset = offset * array.sizes()[d] + index[d];
  return offset;
}
inline double read(const Array& array, const Sizes& index) {
  return array.real(offset_of(array, index));
}

/// Zeros for a result: f64 for floats, else the output's dtype.
inline Array result_array(const NodeView& node, int i = 0) {
  const ir::Type& type = node.out(i);
  return {is_float(type.dtype) ? DType::f64 : type.dtype, sizes_of(type.shape)};
}

inline std::size_t axis_index(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace plait
