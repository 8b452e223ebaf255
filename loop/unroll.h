// Writing out some points of a kernel's index, so that what they have in common is done once: the
// loads of neighbouring windows, or the elements that outputs of one group of channels read.
#pragma once

#include "loop/kernel.h"

namespace plait::loop {

/// With the inner index written out by the number by which its accesses divide it, where that is
/// small and makes them linear: groups of few channels. As it was where it does not.
Kernel with_divisors_written_out(const Kernel& kernel);

/// With an index of the rows written out in twos, where windows then share what they load; columns
/// add up both at once. As it was where they do not.
Kernel with_pairs_of_windows(const Kernel& kernel);

/// Whether its inner points read windows: many elements of one buffer.
bool reads_windows(const Kernel& kernel);

}  // namespace plait::loop
