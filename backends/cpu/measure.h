// What the contraction engine takes on this machine, timed.
#pragma once

#include "backends/cpu/contract/contract.h"
#include "base/device_model.h"

namespace plait::cpu {

/// Seconds of one run of a variant on one thread, the best of a few.
/// With `cold_bytes`, so many bytes pass through the caches before each run.
double trial_seconds(const Problem& problem, const Variant& variant, std::int64_t cold_bytes = 0);

/// Sets the shares of the engine's kinds of kernels (cost.h): guessed cycles over those that pass
/// while a few contractions run. `cycles_per_second` is set.
void measure_shares(DeviceModel& device);

}  // namespace plait::cpu
