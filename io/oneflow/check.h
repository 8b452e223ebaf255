// What the sections of a log must agree on.
#pragma once

#include "io/lines.h"
#include "io/oneflow/record.h"

namespace plait::io::oneflow {

/// UserError with its line when: a name is used twice; an op reads a tensor that nothing makes, or
/// one of another size or dtype than its maker says; the log ends while tracing or before any op.
/// Fills `missing`. `traced`: the log says that tracing has ended.
void check(Record& record, const Lines& lines, bool traced);

/// Tensors of the run time, which the tree does not show making: `System-...`.
bool is_system(std::string_view tensor);

}  // namespace plait::io::oneflow
