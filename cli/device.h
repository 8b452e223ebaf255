// The device that costs are computed from: given, measured on this machine and kept, or built in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/device_model.h"
#include "cli/args.h"

namespace plait::cli {

inline constexpr Flag kDeviceFlag{
    "--device", "FILE|NAME", "costs by this device: h200, cpu, or a file of `plait doctor -o`"};

/// What --device names, for this backend; else the processor's model that was kept. Nothing: the
/// backend has its own. UserError for a device of another backend.
std::optional<DeviceModel> device_of(const Args& args, std::string_view backend);

/// This processor's, as it was measured before, or measured now and kept: for the cpus that a
/// process has.
DeviceModel measured_processor();
/// Measures anew, and keeps that in place of what was kept.
DeviceModel measure_processor();

/// The processor as the system calls it.
std::string machine_name();

/// `NVIDIA H200, built in: 132 processors, 3.80 TB/s...`: which device, and where it is from.
std::string device_text(const DeviceModel& device);

}  // namespace plait::cli
