// When and where the statements and stores of a kernel happen: one answer for all who print or run
// them.
#pragma once

#include "loop/kernel.h"

namespace plait::loop {

/// Once per call, once per row or for each inner index. Not of a column's result.
Level store_level(const Kernel& kernel, const KernelStore& store);
/// What a reduction makes is there when its stage is over.
int store_stage(const Kernel& kernel, const KernelStore& store);
bool is_column_store(const Kernel& kernel, const KernelStore& store);

/// Whether a stage walks the inner points.
bool has_inner(const Kernel& kernel, int stage);
/// Whether an epilogue takes its product only as `dtype` has it: it may then be read from a buffer
/// of that dtype.
bool rounds_first(const Kernel& epilogue, DType dtype);
/// Statements whose values are kept for later stages.
int kept_count(const Kernel& kernel);

}  // namespace plait::loop
