// Filling the driver's table.
#include "backends/cuda/driver/api.h"

#include "backends/cuda/driver/shared_library.h"
#include "base/error.h"

namespace plait::cuda {
namespace {

constexpr int kOldestDriver = 12000;

template <class Function>
void take(const SharedLibrary& library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(library.symbol(name));
  if (into == nullptr) {
    fail("the NVIDIA driver is too old: it has no ", name,
         "; update it (CUDA 12.0 or newer), or run with --backend cpu");
  }
}

void take_devices(const SharedLibrary& lib, DriverApi& api) {
  take(lib, "cuDeviceGetCount", api.device_count);
  take(lib, "cuDeviceGet", api.device_get);
  take(lib, "cuDeviceGetName", api.device_name);
  take(lib, "cuDeviceGetAttribute", api.device_attribute);
  take(lib, "cuDeviceTotalMem_v2", api.device_memory);
  take(lib, "cuDevicePrimaryCtxRetain", api.context_retain);
  take(lib, "cuDevicePrimaryCtxRelease_v2", api.context_release);
  take(lib, "cuCtxSetCurrent", api.context_set);
}

void take_memory(const SharedLibrary& lib, DriverApi& api) {
  take(lib, "cuMemGetInfo_v2", api.memory_info);
  take(lib, "cuMemAlloc_v2", api.memory_allocate);
  take(lib, "cuMemFree_v2", api.memory_free);
  take(lib, "cuMemAllocHost_v2", api.host_allocate);
  take(lib, "cuMemFreeHost", api.host_free);
  take(lib, "cuMemcpyHtoDAsync_v2", api.copy_in);
  take(lib, "cuMemcpyDtoHAsync_v2", api.copy_out);
  take(lib, "cuMemcpyDtoDAsync_v2", api.copy_within);
  take(lib, "cuMemsetD8Async", api.set_bytes);
}

void take_streams(const SharedLibrary& lib, DriverApi& api) {
  take(lib, "cuStreamCreate", api.stream_create);
  take(lib, "cuStreamDestroy_v2", api.stream_destroy);
  take(lib, "cuStreamSynchronize", api.stream_wait);
  take(lib, "cuStreamWaitEvent", api.stream_wait_event);
  take(lib, "cuStreamBeginCapture_v2", api.capture_begin);
  take(lib, "cuStreamEndCapture", api.capture_end);
  take(lib, "cuEventCreate", api.event_create);
  take(lib, "cuEventDestroy_v2", api.event_destroy);
  take(lib, "cuEventRecordWithFlags", api.event_record);
  take(lib, "cuEventSynchronize", api.event_wait);
  take(lib, "cuEventElapsedTime", api.event_elapsed);
}

void take_code(const SharedLibrary& lib, DriverApi& api) {
  take(lib, "cuModuleLoadData", api.module_load);
  take(lib, "cuModuleUnload", api.module_unload);
  take(lib, "cuModuleGetFunction", api.module_function);
  take(lib, "cuFuncGetAttribute", api.function_attribute);
  take(lib, "cuFuncSetAttribute", api.function_set_attribute);
  api.function_parameter =
      reinterpret_cast<decltype(api.function_parameter)>(lib.symbol("cuFuncGetParamInfo"));
  take(lib, "cuLaunchKernelEx", api.launch_kernel);
  take(lib, "cuTensorMapEncodeTiled", api.tensor_map);
  take(lib, "cuGraphInstantiateWithFlags", api.graph_instantiate);
  take(lib, "cuGraphUpload", api.graph_upload);
  take(lib, "cuGraphLaunch", api.graph_launch);
  take(lib, "cuGraphExecDestroy", api.graph_exec_destroy);
  take(lib, "cuGraphDestroy", api.graph_destroy);
}

DriverApi load() {
  const SharedLibrary lib = open_library({"libcuda.so.1"});
  if (!lib) {
    const bool absent = lib.why.find("No such file") != std::string::npos;
    fail("there is no NVIDIA driver on this machine (libcuda.so.1",
         absent ? std::string() : ": " + lib.why, "): install it, or run with --backend cpu");
  }
  DriverApi api;
  take(lib, "cuInit", api.init);
  take(lib, "cuDriverGetVersion", api.driver_version);
  take(lib, "cuGetErrorName", api.error_name);
  take(lib, "cuGetErrorString", api.error_string);
  if (const CUresult code = api.init(0); code != CUDA_SUCCESS) {
    if (code == CUDA_ERROR_NO_DEVICE) {
      fail("the NVIDIA driver finds no GPU on this machine (", error_text(api, code),
           "): is CUDA_VISIBLE_DEVICES set? --backend cpu runs the same programs");
    }
    fail("the NVIDIA driver does not start (", error_text(api, code),
         "): restart the machine or install it anew, or run with --backend cpu");
  }
  check_call(api, api.driver_version(&api.version), "ask for the driver's version");
  if (api.version < kOldestDriver) {
    fail("the NVIDIA driver is too old: it offers CUDA ", version_text(api.version), ", ",
         version_text(kOldestDriver), " is needed; update it, or run with --backend cpu");
  }
  take_devices(lib, api);
  take_memory(lib, api);
  take_streams(lib, api);
  take_code(lib, api);
  return api;
}

}  // namespace

const DriverApi& driver() {
  static const DriverApi api = load();  // tried anew after a failure
  return api;
}

std::string version_text(int version) { return str(version / 1000, ".", version % 1000 / 10); }

std::string error_text(const DriverApi& api, CUresult code) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.error_name(code, &name) != CUDA_SUCCESS || name == nullptr) name = "error";
  if (api.error_string(code, &text) != CUDA_SUCCESS || text == nullptr) {
    return str(name, " ", static_cast<int>(code));
  }
  return str(name, ": ", text);
}

void check_call(const DriverApi& api, CUresult code, const char* what) {
  if (code != CUDA_SUCCESS) throw RunError(str("cannot ", what, ": ", error_text(api, code)));
}

bool is_sticky(CUresult code) {
  switch (code) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEINITIALIZED:
      return true;
    default:
      return false;
  }
}

}  // namespace plait::cuda
