// What a GPU does at most: bytes that a copy reads and writes, operations of large products by how
// they multiply. `plait profile` compares with them.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/cuda/device.h"
#include "backends/cuda/target.h"
#include "backends/target.h"

namespace plait::cuda {

struct CeilingSizes {
  std::int64_t copy_bytes = std::int64_t{1} << 30;  // of each buffer
  std::int64_t halves = 8192, floats = 4096;        // m, n and k of the products
  int runs = 10;
};

/// A product of both libraries' precisions where there are libraries, of our own kernels otherwise.
/// Takes memory for as long as it measures. RunError when there is too little.
/// `model`: all else that it says of the device.
DeviceModel measure_ceilings(Device& device, const Libraries* libraries, DeviceModel model,
                             const CeilingSizes& sizes);

/// As measured before on such a device, or measured now and kept. Nothing where no driver is behind
/// the device.
std::optional<DeviceModel> ceilings_of(Device& device, const Libraries* libraries,
                                       const DeviceModel& model);

}  // namespace plait::cuda
