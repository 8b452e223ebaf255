// A GPU through CUDA's driver and NVRTC: the device that programs run on.
#pragma once

#include <functional>
#include <memory>

#include "backends/cuda/device.h"

namespace plait::cuda {

struct DriverOptions {
  int device = -1;  // -1: $PLAIT_CUDA_DEVICE, else 0
  /// May be empty: told how far compiling is, on the thread that asked for it.
  std::function<void(int done, int total, double seconds)> progress;
};

/// UserError in one line when there is no driver, no such GPU or no NVRTC; it uses the GPU's
/// primary context, as NVIDIA's libraries do. A Device is used by one thread at a time.
std::shared_ptr<Device> make_driver_device(const DriverOptions& options = {});

/// Makes the context of such a device current on this thread, whichever it is.
void enter_context(const Device& device);
/// Returns once its context is made, or cannot be.
void wait_for_context(const Device& device);

}  // namespace plait::cuda
