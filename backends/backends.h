// The backends by name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/target.h"

namespace plait {

std::vector<std::string> backend_names();

struct TargetOptions {
  int threads = 0;    // of the cpu, up to kMostThreads; 0: as many as this process has cpus
  bool tf32 = false;  // on cuda, f32 contractions may round their operands to tf32
  bool fast = false;  // on cuda, libraries may take what gives other bits from run to run
  std::optional<DeviceModel> device{};  // that costs are computed from; none: the target's own
};

/// UserError with the names there are when there is none of this name, and when what it needs is
/// not on this machine.
std::unique_ptr<Target> make_target(std::string_view name, const TargetOptions& options);
std::unique_ptr<Target> make_target(std::string_view name, int threads = 0);
/// What programs are planned for: those, and `cuda` without a GPU.
std::unique_ptr<Target> make_plan_target(std::string_view name, const TargetOptions& options);
/// One that opens no device, even where there is one; `why` is what opening it says.
std::unique_ptr<Target> make_planner(std::string_view name, const TargetOptions& options,
                                     const std::string& why);

}  // namespace plait
