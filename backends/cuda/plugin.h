// What libplait_cuda.so offers to the program that loads it. Both are of one build: C++ types and
// exceptions cross freely, and plugin_interface() tells when they are not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/target.h"
#include "backends/plugin.h"
#include "backends/runtime.h"
#include "backends/target.h"

namespace plait {

/// Changes with what crosses: the number by hand, for the order of functions; sizes by themselves.
inline std::string plugin_interface() {
  return str("interface 5: ", sizeof(program::Program), " ", sizeof(program::Call), " ", sizeof(Choice), " ", sizeof(PrintedLoop), " ",
             sizeof(Memory), " ", sizeof(loop::Kernel), " ", sizeof(loop::Contraction), " ",
             sizeof(ir::Type), " ", sizeof(cuda::CudaOptions), ", ", __VERSION__);
}

}  // namespace plait

extern "C" {

/// plugin_interface() as the library was built.
const char* plait_cuda_interface();

/// The caller owns it. Raises what make_driver_device raises. All targets share one device, which
/// lives to the end of the process.
plait::Target* plait_cuda_make_target(const plait::cuda::CudaOptions& options);

/// Appends what is there and what is not; raises nothing for that.
void plait_cuda_findings(bool measure, std::vector<plait::Finding>& out);

/// The device of all targets, for tests of kernels. Raises what make_driver_device raises.
void plait_cuda_share_device(std::shared_ptr<plait::cuda::Device>& out);
}
