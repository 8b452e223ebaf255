// What there is of CUDA on this machine, for messages and `plait doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/driver/api.h"

namespace plait::cuda {

struct DeviceFacts {
  int index = 0;
  std::string name;          // NVIDIA H200
  int major = 0, minor = 0;  // compute capability
  std::string architecture;  // sm_90a
  int multiprocessors = 0;
  int most_block_bytes = 0;  // dynamic shared memory that a block may ask for
  std::int64_t total_bytes = 0;
};

/// The GPUs that CUDA_VISIBLE_DEVICES leaves.
int device_count(const DriverApi& api);
/// Makes no context. RunError when the driver does not say.
DeviceFacts device_facts(const DriverApi& api, int index);

/// $PLAIT_CUDA_DEVICE, else 0. UserError when it is no GPU of this machine.
int chosen_device(const DriverApi& api);

/// The architecture that our kernels are written for.
inline constexpr int kMajor = 9;

/// Free bytes of a device; makes a context (a few hundred MB and ms) for as long as it asks.
std::int64_t free_bytes_of(const DriverApi& api, int index);

/// Bytes read and written per second by copies between two buffers of 1 GB on the device.
double copy_bytes_per_second(const DriverApi& api, int index);

}  // namespace plait::cuda
