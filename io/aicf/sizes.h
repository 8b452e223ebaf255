// Which sizes of the document are one size: axes that ops force to be equal share a name, so that
// `--set batch=1` changes all of them.
#pragma once

#include <vector>

#include "base/shape.h"
#include "io/aicf/record.h"
#include "io/import.h"

namespace plait::io::aicf {

/// The shape of every cell. `batch` stands for the rows that the first layer reads and, where all
/// layers have as many features in and out, `width` for those; all else is numbers. Adds the names
/// to `import`.
std::vector<Shape> named_shapes(const Record& record, Import& import);

/// The same with numbers alone.
std::vector<Shape> plain_shapes(const Record& record);

}  // namespace plait::io::aicf
