// Arrays into and out of a piece of memory, each in the order of axes that it has there.
#pragma once

#include <cstdint>

#include "backends/runtime.h"
#include "base/array.h"
#include "program/layout.h"

namespace plait {

HostLayout host_layout_of(const Array& value, const program::Layout& layout);

/// Writes an array, in row-major order, in its layout.
void put(Space& space, std::int64_t offset, const program::Layout& layout, const Array& value);
/// Reads what put() wrote.
Array take(const Space& space, std::int64_t offset, const program::Layout& layout, DType dtype,
           const Sizes& sizes);
/// `bytes` of the elements of a pattern, over and over.
void fill(Space& space, std::int64_t offset, std::int64_t bytes, const Array& pattern);

}  // namespace plait
