// The GPU's device comes from the library that programs load, by its own entry point.
#include "tests/backends/device_under_test.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "backends/cuda/emulate/emulated_device.h"
#include "backends/cuda/plugin.h"
#include "base/error.h"

namespace plait::test {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

template <class Function>
Function symbol(void* library, const char* name) {
  void* address = ::dlsym(library, name);
  if (!address) throw RunError(str("libplait_cuda.so has no ", name));
  return reinterpret_cast<Function>(address);
}

std::shared_ptr<cuda::Device> gpu() {
  const std::string file = variable("PLAIT_PLUGINS") + "/libplait_cuda.so";
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) throw RunError(str("no device to test on: ", ::dlerror()));
  const auto stamp = symbol<decltype(&plait_cuda_interface)>(library, "plait_cuda_interface");
  if (stamp() != plugin_interface()) throw RunError(file + " is of another build");
  std::shared_ptr<cuda::Device> device;
  symbol<decltype(&plait_cuda_share_device)>(library, "plait_cuda_share_device")(device);
  return device;
}

/// Beside the test program, unless the environment names another: all cases share it, and the next
/// run finds what this one compiled.
void use_own_cache() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  ::setenv("PLAIT_CACHE", (program.parent_path() / "kernel_cache").c_str(), 0);
}

}  // namespace

std::shared_ptr<cuda::Device> device_under_test() {
  use_own_cache();
  return tested_on_gpu() ? gpu() : cuda::make_emulated_device();
}

bool tested_on_gpu() { return variable("PLAIT_TEST_DEVICE") == "gpu"; }

}  // namespace plait::test
