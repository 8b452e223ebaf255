// The CUDA driver: a table of the functions used here, filled when the program runs, and what their
// return codes mean. Only names that drivers since 12.0 have are required.
#pragma once

#include <cuda.h>

#include <string>

namespace plait::cuda {

struct DriverApi {
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuDriverGetVersion) driver_version = nullptr;
  decltype(&::cuGetErrorName) error_name = nullptr;
  decltype(&::cuGetErrorString) error_string = nullptr;

  decltype(&::cuDeviceGetCount) device_count = nullptr;
  decltype(&::cuDeviceGet) device_get = nullptr;
  decltype(&::cuDeviceGetName) device_name = nullptr;
  decltype(&::cuDeviceGetAttribute) device_attribute = nullptr;
  decltype(&::cuDeviceTotalMem) device_memory = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) context_retain = nullptr;
  decltype(&::cuDevicePrimaryCtxRelease) context_release = nullptr;
  decltype(&::cuCtxSetCurrent) context_set = nullptr;

  decltype(&::cuMemGetInfo) memory_info = nullptr;
  decltype(&::cuMemAlloc) memory_allocate = nullptr;
  decltype(&::cuMemFree) memory_free = nullptr;
  decltype(&::cuMemAllocHost) host_allocate = nullptr;
  decltype(&::cuMemFreeHost) host_free = nullptr;
  decltype(&::cuMemcpyHtoDAsync) copy_in = nullptr;
  decltype(&::cuMemcpyDtoHAsync) copy_out = nullptr;
  decltype(&::cuMemcpyDtoDAsync) copy_within = nullptr;
  decltype(&::cuMemsetD8Async) set_bytes = nullptr;

  decltype(&::cuStreamCreate) stream_create = nullptr;
  decltype(&::cuStreamDestroy) stream_destroy = nullptr;
  decltype(&::cuStreamSynchronize) stream_wait = nullptr;
  decltype(&::cuStreamWaitEvent) stream_wait_event = nullptr;
  decltype(&::cuStreamBeginCapture) capture_begin = nullptr;
  decltype(&::cuStreamEndCapture) capture_end = nullptr;
  decltype(&::cuEventCreate) event_create = nullptr;
  decltype(&::cuEventDestroy) event_destroy = nullptr;
  decltype(&::cuEventRecordWithFlags) event_record = nullptr;
  decltype(&::cuEventSynchronize) event_wait = nullptr;
  decltype(&::cuEventElapsedTime) event_elapsed = nullptr;

  decltype(&::cuModuleLoadData) module_load = nullptr;
  decltype(&::cuModuleUnload) module_unload = nullptr;
  decltype(&::cuModuleGetFunction) module_function = nullptr;
  decltype(&::cuFuncGetAttribute) function_attribute = nullptr;
  decltype(&::cuFuncSetAttribute) function_set_attribute = nullptr;
  decltype(&::cuFuncGetParamInfo) function_parameter = nullptr;  // may be null: since 12.4
  decltype(&::cuLaunchKernelEx) launch_kernel = nullptr;
  decltype(&::cuTensorMapEncodeTiled) tensor_map = nullptr;

  decltype(&::cuGraphInstantiateWithFlags) graph_instantiate = nullptr;
  decltype(&::cuGraphUpload) graph_upload = nullptr;
  decltype(&::cuGraphLaunch) graph_launch = nullptr;
  decltype(&::cuGraphExecDestroy) graph_exec_destroy = nullptr;
  decltype(&::cuGraphDestroy) graph_destroy = nullptr;

  int version = 0;  // the CUDA version that the driver offers: 13000
};

/// The driver, loaded and started on first use. UserError in one line when there is none, it finds
/// no GPU, or it is too old.
const DriverApi& driver();

/// 13010 -> `13.1`
std::string version_text(int version);

/// `CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered`
std::string error_text(const DriverApi& api, CUresult code);

/// RunError `cannot WHAT: ...` unless `code` is success.
void check_call(const DriverApi& api, CUresult code, const char* what);

/// Errors after which nothing more runs in this process.
bool is_sticky(CUresult code);

}  // namespace plait::cuda
