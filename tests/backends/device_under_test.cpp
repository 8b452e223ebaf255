// The GPU's device comes from the library that programs load, by its own entry point.
#include "tests/backends/device_under_test.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "backends/cuda/emulate/emulated_device.h"
#include "base/error.h"

namespace plait::test {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::shared_ptr<cuda::Device> gpu() {
  const std::string file = variable("PLAIT_PLUGINS") + "/libplait_cuda.so";
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) throw RunError(str("no device to test on: ", ::dlerror()));
  using Share = void (*)(std::shared_ptr<cuda::Device>&);
  const auto share = reinterpret_cast<Share>(::dlsym(library, "plait_cuda_share_device"));
  if (!share) throw RunError(file + " has no plait_cuda_share_device");
  std::shared_ptr<cuda::Device> device;
  share(device);
  return device;
}

}  // namespace

std::shared_ptr<cuda::Device> device_under_test() {
  return variable("PLAIT_TEST_DEVICE") == "gpu" ? gpu() : cuda::make_emulated_device();
}

}  // namespace plait::test
