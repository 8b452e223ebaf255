// Whether two kernels, or two contractions, are the same in every field: what the text form keeps.
#pragma once

#include <string>

#include "loop/contraction.h"
#include "loop/kernel.h"

namespace plait::loop {

/// The first field that differs; empty when none does. Sizes are compared with the ranges of their
/// symbols, formulas step by step: two that share other parts differ.
std::string difference(const Kernel& a, const Kernel& b);
std::string difference(const Contraction& a, const Contraction& b);

}  // namespace plait::loop
