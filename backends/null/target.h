// The null backend: everything but the arithmetic. Programs are planned for it without a compiler,
// a device or measurements, and the same on every machine, so that tests can compare what planning
// leaves as text. Results have the right types and are zero.
#pragma once

#include <memory>

#include "backends/target.h"

namespace plait {

/// With the built-in device `null`, unless another is given.
std::unique_ptr<Target> make_null_target(std::optional<DeviceModel> device = std::nullopt);

}  // namespace plait
