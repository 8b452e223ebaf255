// A runtime on the host that runs programs step by step, each step by one function: nothing is
// compiled, and nothing runs behind the caller's back.
#pragma once

#include <memory>

#include "backends/runtime.h"

namespace plait {

/// Runs one step. RunError names the node.
using RunStep = void (*)(const program::Program&, const program::Step&, const DimBindings& sizes,
                         const Memory&);

std::unique_ptr<Runtime> make_stepwise_runtime(RunStep run);

}  // namespace plait
