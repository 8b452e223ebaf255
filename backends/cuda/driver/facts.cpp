// Asking the driver.
#include "backends/cuda/driver/facts.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "backends/cuda/driver/nvrtc.h"
#include "base/error.h"
#include "base/text.h"

namespace plait::cuda {
namespace {

int attribute(const DriverApi& api, CUdevice_attribute which, CUdevice device) {
  int value = 0;
  check_call(api, api.device_attribute(&value, which, device), "ask for a property of the GPU");
  return value;
}

CUdevice handle_of(const DriverApi& api, int index) {
  CUdevice device = 0;
  check_call(api, api.device_get(&device, index), "find the GPU");
  return device;
}

/// The GPU's primary context, current on this thread while this lives.
class Visit {
 public:
  Visit(const DriverApi& api, int index) : api_(api), device_(handle_of(api, index)) {
    CUcontext context = nullptr;
    check_call(api_, api_.context_retain(&context, device_), "make a context on the GPU");
    api_.context_set(context);
  }
  ~Visit() {
    api_.context_set(nullptr);
    api_.context_release(device_);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  const DriverApi& api_;
  CUdevice device_;
};

/// What a measurement holds, freed however it ends.
struct CopyTrial {
  const DriverApi& api;
  std::array<CUdeviceptr, 2> buffers{};
  std::array<CUevent, 2> ends{};
  CUstream stream = nullptr;
  ~CopyTrial() {
    for (CUdeviceptr buffer : buffers) {
      if (buffer != 0) api.memory_free(buffer);
    }
    for (CUevent event : ends) {
      if (event != nullptr) api.event_destroy(event);
    }
    if (stream != nullptr) api.stream_destroy(stream);
  }
};

}  // namespace

int device_count(const DriverApi& api) {
  int count = 0;
  check_call(api, api.device_count(&count), "count the GPUs");
  return count;
}

DeviceFacts device_facts(const DriverApi& api, int index) {
  const CUdevice device = handle_of(api, index);
  DeviceFacts out;
  out.index = index;
  std::array<char, 256> name{};
  check_call(api, api.device_name(name.data(), static_cast<int>(name.size()) - 1, device),
             "ask for the GPU's name");
  out.name = name.data();
  out.major = attribute(api, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  out.minor = attribute(api, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  out.architecture = architecture_name(out.major, out.minor);
  out.multiprocessors = attribute(api, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  out.most_block_bytes =
      attribute(api, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
  std::size_t bytes = 0;
  check_call(api, api.device_memory(&bytes, device), "ask for the GPU's memory");
  out.total_bytes = static_cast<std::int64_t>(bytes);
  return out;
}

int chosen_device(const DriverApi& api) {
  const int count = device_count(api);
  if (count == 0) fail("the NVIDIA driver finds no GPU on this machine: run with --backend cpu");
  const char* given = std::getenv("PLAIT_CUDA_DEVICE");
  if (given == nullptr || *given == '\0') return 0;
  const std::int64_t index = parse_integer(given, "PLAIT_CUDA_DEVICE");
  if (index < 0 || index >= count) {
    fail("PLAIT_CUDA_DEVICE is ", given, ", but there ", count == 1 ? "is 1 GPU" : "are ",
         count == 1 ? "" : str(count, " GPUs"), ", counted from 0");
  }
  return static_cast<int>(index);
}

std::int64_t free_bytes_of(const DriverApi& api, int index) {
  const Visit visit(api, index);
  std::size_t free = 0;
  std::size_t total = 0;
  check_call(api, api.memory_info(&free, &total), "ask for the GPU's free memory");
  return static_cast<std::int64_t>(free);
}

double copy_bytes_per_second(const DriverApi& api, int index) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  constexpr int kRounds = 5;
  constexpr int kCopies = 8;
  const Visit visit(api, index);
  CopyTrial trial{api};
  const auto must = [&](CUresult code) { check_call(api, code, "measure the GPU's memory"); };
  for (CUdeviceptr& buffer : trial.buffers) must(api.memory_allocate(&buffer, kBytes));
  for (CUevent& event : trial.ends) must(api.event_create(&event, CU_EVENT_DEFAULT));
  must(api.stream_create(&trial.stream, CU_STREAM_NON_BLOCKING));
  must(api.set_bytes(trial.buffers[0], 1, kBytes, trial.stream));
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    must(api.event_record(trial.ends[0], trial.stream, 0));
    for (int i = 0; i < kCopies; ++i) {
      must(api.copy_within(trial.buffers[1], trial.buffers[0], kBytes, trial.stream));
    }
    must(api.event_record(trial.ends[1], trial.stream, 0));
    must(api.event_wait(trial.ends[1]));
    float ms = 0;
    must(api.event_elapsed(&ms, trial.ends[0], trial.ends[1]));
    if (ms > 0) best = std::max(best, 2.0 * kCopies * static_cast<double>(kBytes) / (ms * 1e-3));
  }
  return best;
}

}  // namespace plait::cuda
