// Shapes: lists of dimensions, and the few questions everyone asks of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dim.h"

namespace plait {

using Shape = std::vector<Dim>;
/// A shape whose sizes are all numbers.
using Sizes = std::vector<std::int64_t>;

Dim element_count(const Shape& shape);
std::int64_t element_count(const Sizes& sizes);

/// `[64,8]`
std::string shape_text(const Shape& shape);
std::string shape_text(const Sizes& sizes);

/// Numbers of a shape; UserError names the symbol that is not one.
Sizes sizes_of(const Shape& shape);
Sizes sizes_of(const Shape& shape, const DimBindings& bindings);
Shape shape_of(const Sizes& sizes);
Shape substitute(const Shape& shape, const DimBindings& bindings);

/// Row-major strides in elements.
Sizes strides_of(const Sizes& sizes);

}  // namespace plait
