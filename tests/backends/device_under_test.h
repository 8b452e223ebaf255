// The device that kernels are tested on: the emulated one, or a GPU where the environment says so.
#pragma once

#include <memory>

#include "backends/cuda/device.h"

namespace plait::test {

/// With PLAIT_TEST_DEVICE=gpu that of libplait_cuda.so, which is looked for in $PLAIT_PLUGINS; else
/// a new emulated one. RunError when the library is not there.
std::shared_ptr<cuda::Device> device_under_test();

/// Whether that is a GPU; the emulated one is slow to compile for, and takes a part of the cases.
bool tested_on_gpu();

}  // namespace plait::test
