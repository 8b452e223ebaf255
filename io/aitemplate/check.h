// What graphs and reports rely on in a record: names, links, sizes, order.
#pragma once

#include <optional>
#include <string_view>

#include "base/dtype.h"
#include "io/aitemplate/record.h"

namespace plait::io::aitemplate {

/// UserError `FILE:LINE:COLUMN: ...` on the first thing that does not fit.
void check_record(const Record& record);

/// AITemplate's `float16`, `float`, `int64`...
std::optional<DType> dtype_of(std::string_view name);
std::string_view dtype_text(DType dtype);

}  // namespace plait::io::aitemplate
