// A GPU's primary context, and what lives in it: modules of compiled kernels, recorded launches.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <string>

#include "backends/cuda/device.h"
#include "backends/cuda/driver/facts.h"

namespace plait::cuda {

/// The context, held for as long as anything in it lives. It is made on a thread of its own, while
/// the program is read.
class Context {
 public:
  Context(const DriverApi& api, int index);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const DriverApi& api() const { return api_; }
  const DeviceFacts& facts() const { return facts_; }
  /// Makes it current on this thread: every call of the driver comes behind one of this. Raises
  /// what making it raised.
  void enter() const { api_.context_set(made_.get().handle); }
  void wait() const { made_.wait(); }
  /// Seconds from the start to the context.
  double seconds() const { return made_.get().seconds; }

  /// RunError `cannot WHAT: ...` unless it is success. An error that stops the GPU is told at
  /// length once.
  void must(CUresult code, const char* what);

 private:
  struct Made {
    CUcontext handle = nullptr;
    double seconds = 0;
  };
  const DriverApi& api_;
  DeviceFacts facts_;
  CUdevice device_ = 0;
  std::shared_future<Made> made_;
  std::string stopped_;  // why nothing runs any more
};

/// A kernel, ready to be launched: what `Launch::function` points at.
struct DriverFunction {
  std::string name;
  CUfunction handle = nullptr;
  int parameter_bytes = -1;       // -1: the driver does not say
  int fixed_bytes = 0;            // of shared memory, static
  mutable int allowed_bytes = 0;  // of dynamic shared memory, so far
};

class DriverModule : public Module {
 public:
  /// Null with `why` when the driver refuses the code.
  static std::shared_ptr<DriverModule> load(std::shared_ptr<Context> context,
                                            const std::string& code, std::string& why);
  ~DriverModule() override;
  const void* function(const std::string& name) const override;

 private:
  DriverModule(std::shared_ptr<Context> context, CUmodule handle)
      : context_(std::move(context)), handle_(handle) {}
  std::shared_ptr<Context> context_;
  CUmodule handle_;
  mutable std::map<std::string, DriverFunction> functions_;
};

class DriverRecording : public Recording {
 public:
  /// Takes the graph, which is destroyed however this ends.
  DriverRecording(std::shared_ptr<Context> context, CUgraph graph, CUstream stream);
  ~DriverRecording() override;
  CUgraphExec handle() const { return handle_; }

 private:
  std::shared_ptr<Context> context_;
  CUgraphExec handle_ = nullptr;
};

}  // namespace plait::cuda
