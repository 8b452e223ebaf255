// A size as a number to compute with: gradients divide by how many elements were averaged.
#pragma once

#include "ops/builder.h"
#include "ops/constant.h"

namespace plait::ops {

/// A scalar of this dtype; a constant where the size is a number.
inline Tensor size_as_tensor(Builder& b, const Dim& size, DType dtype) {
  if (size.is_const()) return b.constant(static_cast<double>(size.value()), dtype);
  return dim.make(b, DimValue{size, dtype});
}

}  // namespace plait::ops
