// The CPU as a target: C text, the contraction engine's variants, the table of hand kernels.
#pragma once

#include <memory>
#include <optional>

#include "backends/target.h"

namespace plait {

/// `threads` 0: $PLAIT_THREADS or the cpus this process may use. `device`: what costs are computed
/// from, the built-in datasheet `cpu` unless given. No choice depends on it.
std::unique_ptr<Target> make_cpu_target(int threads = 0,
                                        std::optional<DeviceModel> device = std::nullopt);

}  // namespace plait
