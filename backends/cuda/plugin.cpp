// The entry points of libplait_cuda.so, and how contractions reach NVIDIA's libraries.
#include "backends/cuda/plugin.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>

#include "backends/cuda/driver/driver_device.h"
#include "backends/cuda/driver/findings.h"
#include "backends/cuda/library/library.h"
#include "backends/cuda/library/prepare.h"

namespace plait::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What a thread waits at until another opens it, and not for long: it may be held up by compiling.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait_for(lock, std::chrono::milliseconds(100), [&] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

class DriverLibraries : public Libraries {
 public:
  DriverLibraries(std::shared_ptr<Device> device, const CudaOptions& options)
      : device_(std::move(device)) {
    options_.tf32 = options.tf32;
    options_.deterministic = !options.fast;
  }
  std::string identity() const override {
    static const LibraryVersions found = kept_library_versions();
    const auto named = [](const char* name, const std::string& version) {
      return version.empty() ? str("no ", name) : str(name, " ", version);
    };
    return str(named("cublasLt", found.cublaslt), ", ", named("cudnn", found.cudnn));
  }
  std::unique_ptr<LibraryCall> make(const loop::BoundContraction& contraction, DType result,
                                    const LibraryEpilogue& epilogue, const std::string& variant,
                                    bool slow, std::string& why) const override {
    const auto start = Clock::now();
    settle();
    device_->stream();  // makes its context current
    LibraryOptions options = options_;
    options.variant = variant;
    options.compile_engines = slow;
    auto call = make_library_call(contraction, result, options, epilogue, why);
    seconds_ += seconds_since(start);
    return call;
  }
  void expect(LibraryUse use) const override {
    settle();
    prepared_ = {};
    gate_ = std::make_shared<Gate>();
    preparing_ = std::async(std::launch::async, prepare, device_, std::move(use), options_, gate_);
  }
  void memory_is_taken() const override {
    if (gate_) gate_->open();
  }
  void expect_no_more() const override { prepared_.calls.reset(); }
  std::vector<std::pair<std::string, double>> start_seconds() const override {
    return {{"libraries", seconds_},
            {"opened after", prepared_.opened},
            {"started after", prepared_.started},
            {"prepared after", prepared_.all}};
  }
  std::shared_ptr<const Libraries> with(bool tf32) const override {
    return std::make_shared<DriverLibraries>(device_, CudaOptions{tf32, !options_.deterministic});
  }

 private:
  struct Prepared {
    std::shared_ptr<const void> calls;        // what takes long about them
    double opened = 0, started = 0, all = 0;  // seconds until it was done
  };

  /// On a thread of its own: of the device it touches the context alone, which any thread may
  /// enter; `make` and the next `expect` wait for its end, and raise what it raised.
  static Prepared prepare(const std::shared_ptr<Device>& device, const LibraryUse& use,
                          const LibraryOptions& options, const std::shared_ptr<Gate>& gate) {
    const auto start = Clock::now();
    const auto enter = [&] { enter_context(*device); };
    Prepared out;
    open_libraries(use.cublaslt, use.cudnn);
    out.opened = seconds_since(start);
    enter();
    gate->wait();
    // Beside cuDNN: neither library knows of the other's handles.
    std::future<void> lt = std::async(std::launch::async, [&] {
      enter();
      start_libraries(use.cublaslt, false);
      prepare_products(use.calls, options, enter);
    });
    start_libraries(false, use.cudnn);
    out.started = seconds_since(start);
    out.calls = prepare_convolutions(use.calls, options, enter);
    lt.get();
    out.all = seconds_since(start);
    return out;
  }
  void settle() const {
    if (!preparing_.valid()) return;
    gate_->open();
    prepared_ = preparing_.get();
  }

  std::shared_ptr<Device> device_;
  LibraryOptions options_;
  mutable Prepared prepared_;           // for the program that was loaded last
  mutable std::shared_ptr<Gate> gate_;  // that it waits at
  mutable std::future<Prepared> preparing_;
  mutable double seconds_ = 0;  // that calls took to make
};

/// A line on standard error while compiling takes long: after two seconds, then every five.
void tell_progress(int done, int total, double seconds) {
  constexpr double kFirst = 2, kEvery = 5;
  static double next = kFirst;
  if (done == 1) next = kFirst;
  if (seconds < next || done == total) return;
  next = seconds + kEvery;
  std::fprintf(stderr, "plait: compiling for the GPU: %d of %d after %.0f s\n", done, total,
               seconds);
}

std::shared_ptr<Device> shared_device() {
  // Not destroyed at exit: the driver may be gone by then, and gives everything back itself. A
  // context that is still being made is waited for, lest the driver goes while it is.
  static const auto* device = [] {
    auto* made =
        new std::shared_ptr<Device>(make_driver_device({.device = -1, .progress = tell_progress}));
    std::atexit([] { wait_for_context(*shared_device()); });
    return made;
  }();
  return *device;
}

}  // namespace
}  // namespace plait::cuda

extern "C" {

const char* plait_cuda_interface() {
  static const std::string stamp = plait::plugin_interface();
  return stamp.c_str();
}

plait::Target* plait_cuda_make_target(const plait::cuda::CudaOptions& options) {
  if (!options.without.empty()) {
    return plait::cuda::make_cuda_target(nullptr, nullptr, options).release();
  }
  const std::shared_ptr<plait::cuda::Device> device = plait::cuda::shared_device();
  const auto libraries = std::make_shared<plait::cuda::DriverLibraries>(device, options);
  return plait::cuda::make_cuda_target(device, libraries, options).release();
}

void plait_cuda_findings(bool measure, std::vector<plait::Finding>& out) {
  plait::cuda::add_findings(measure, out);
}

void plait_cuda_share_device(std::shared_ptr<plait::cuda::Device>& out) {
  out = plait::cuda::shared_device();
}
}
