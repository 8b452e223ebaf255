// What the programs of this room run on. The same tests are linked once for the cpu, once for a GPU
// and once for the GPU's kernels emulated on the CPU, which are slow: there they take a part of
// their cases.
#pragma once

#include <memory>

#include "backends/target.h"

namespace plait::test {

enum class Tested { kCpu, kGpu, kEmulated };
Tested tested();

/// `threads` are the cpu's; elsewhere they change nothing, and running with another number of them
/// is running again.
std::unique_ptr<Target> target_under_test(int threads = 2);

}  // namespace plait::test
