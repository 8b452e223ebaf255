// Backends that are libraries of their own, loaded when asked for: CUDA. The program itself needs
// nothing of NVIDIA's; without the library, or what it needs, the answer is one line that says why.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/target.h"
#include "base/error.h"

namespace plait {

struct TargetOptions;

/// The CUDA target. UserError in one line when this build or this machine has none: no library, one
/// of another build, no driver, no GPU, no compiler.
std::unique_ptr<Target> make_plugin_target(const TargetOptions& options);

/// One that plans without a device, and does not run: `why` it cannot. UserError when this build has
/// no library.
std::unique_ptr<Target> make_plugin_planner(const TargetOptions& options, const std::string& why);

/// Whether make_plugin_target gives one here, and why not. Starts the GPU.
Decision plugin_available();

/// A part of what a backend needs, there or not: for `plait doctor`.
struct Finding {
  std::string part;  // nvrtc
  bool found = true;
  std::string what;   // its version and more; or why it is not there
  std::string costs;  // not there, or not as it should be: what that means and what to do
};

/// CUDA's parts: the library, the driver, GPUs, compiler, NVIDIA's libraries. `measure`: the memory
/// of the GPU too. Never raises for what is missing.
std::vector<Finding> plugin_findings(bool measure);

}  // namespace plait
