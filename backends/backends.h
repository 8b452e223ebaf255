// The backends by name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/target.h"

namespace plait {

std::vector<std::string> backend_names();
/// UserError with the names there are when there is none of this name.
std::unique_ptr<Backend> make_backend(std::string_view name);

struct TargetOptions {
  int threads = 0;    // of the cpu, up to kMostThreads; 0: as many as this process has cpus
  bool tf32 = false;  // on cuda, f32 contractions may round their operands to tf32
  bool fast = false;  // on cuda, libraries may take what gives other bits from run to run
  std::optional<DeviceModel> device{};  // that costs are computed from; none: the target's own
};

/// A backend that runs programs; null for one that runs graphs node by node. UserError as above,
/// and when what it needs is not on this machine.
std::unique_ptr<Target> make_target(std::string_view name, const TargetOptions& options);
std::unique_ptr<Target> make_target(std::string_view name, int threads = 0);
/// What programs are planned for: those, `null`, and `cuda` without a GPU. UserError for `ref`, which takes graphs as they
/// are.
std::unique_ptr<Target> make_plan_target(std::string_view name, const TargetOptions& options);
/// One that opens no device, even where there is one; `why` is what opening it says.
std::unique_ptr<Target> make_planner(std::string_view name, const TargetOptions& options,
                                     const std::string& why);

}  // namespace plait
