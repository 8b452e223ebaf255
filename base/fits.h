// Which numbers a dtype can hold. A float rounds what it holds; a number does not fit where it
// would become another whole number, zero or infinity.
#pragma once

#include <string>

#include "base/dtype.h"

namespace plait {

/// Empty where `value` fits `dtype`; otherwise why not: `i8 holds whole numbers from -128 to 127`.
std::string misfit(double value, DType dtype);

}  // namespace plait
