// What there is of CUDA here, and what is missing, in words.
#pragma once

#include <vector>

#include "backends/plugin.h"

namespace plait::cuda {

/// Driver, GPUs, NVRTC, cuBLASLt and cuDNN, in this order. `measure`: copies on the chosen GPU.
void add_findings(bool measure, std::vector<Finding>& out);

}  // namespace plait::cuda
