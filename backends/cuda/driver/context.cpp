// The context, modules and recordings through the driver.
#include "backends/cuda/driver/context.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace plait::cuda {
namespace {

constexpr int kUnaskedBlockBytes = 48 << 10;  // shared memory that every kernel may use

/// The bytes of a kernel's one parameter; -1 when the driver is too old to say.
int parameter_bytes(const DriverApi& api, CUfunction function) {
  if (api.function_parameter == nullptr) return -1;
  std::size_t offset = 0, bytes = 0;
  if (api.function_parameter(function, 0, &offset, &bytes) != CUDA_SUCCESS) return 0;
  return static_cast<int>(bytes);
}

}  // namespace

Context::Context(const DriverApi& api, int index) : api_(api), facts_(device_facts(api, index)) {
  if (facts_.major != kMajor) {
    fail("the GPU ", facts_.name, " has compute capability ", facts_.major, ".", facts_.minor,
         "; --backend cuda is made for ", kMajor, ".0 (Hopper): run with --backend cpu");
  }
  check_call(api_, api_.device_get(&device_, index), "find the GPU");
  made_ = std::async(std::launch::async, [this, start = std::chrono::steady_clock::now()] {
    Made out;
    check_call(api_, api_.context_retain(&out.handle, device_), "make a context on the GPU");
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return out;
  });
}

Context::~Context() {
  made_.wait();
  api_.context_set(nullptr);
  api_.context_release(device_);
}

void Context::must(CUresult code, const char* what) {
  if (code == CUDA_SUCCESS) return;
  if (!stopped_.empty()) throw RunError(str("cannot ", what, ": the GPU has stopped before this"));
  if (is_sticky(code)) {
    stopped_ = error_text(api_, code);
    throw RunError(str("the GPU stopped: ", stopped_, " (noticed when asked to ", what,
                       "); nothing more runs on it in this process"));
  }
  check_call(api_, code, what);
}

std::shared_ptr<DriverModule> DriverModule::load(std::shared_ptr<Context> context,
                                                 const std::string& code, std::string& why) {
  CUmodule handle = nullptr;
  const DriverApi& api = context->api();
  const CUresult result = api.module_load(&handle, code.data());
  if (is_sticky(result)) context->must(result, "load a kernel");
  if (result != CUDA_SUCCESS) {
    why = str(error_text(api, result), " (the driver offers CUDA ", version_text(api.version), ")");
    return nullptr;
  }
  return std::shared_ptr<DriverModule>(new DriverModule(std::move(context), handle));
}

DriverModule::~DriverModule() {
  context_->enter();
  context_->api().module_unload(handle_);
}

const void* DriverModule::function(const std::string& name) const {
  const auto known = functions_.find(name);
  if (known != functions_.end()) return &known->second;
  context_->enter();
  const DriverApi& api = context_->api();
  DriverFunction out;
  out.name = name;
  const CUresult code = api.module_function(&out.handle, handle_, name.c_str());
  check(code != CUDA_ERROR_NOT_FOUND, "a compiled module has no kernel ", name);
  context_->must(code, "find a kernel");
  // Asking for this also loads the kernel now: a recording may be the first to launch it.
  context_->must(
      api.function_attribute(&out.fixed_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, out.handle),
      "load a kernel");
  out.parameter_bytes = parameter_bytes(api, out.handle);
  out.allowed_bytes = std::max(0, kUnaskedBlockBytes - out.fixed_bytes);
  return &functions_.emplace(name, std::move(out)).first->second;
}

DriverRecording::DriverRecording(std::shared_ptr<Context> context, CUgraph graph, CUstream stream)
    : context_(std::move(context)) {
  const DriverApi& api = context_->api();
  const CUresult code = api.graph_instantiate(&handle_, graph, 0);
  api.graph_destroy(graph);
  context_->must(code, "prepare a recording");
  // So that the first replay is as quick as the others.
  if (const CUresult upload = api.graph_upload(handle_, stream); upload != CUDA_SUCCESS) {
    api.graph_exec_destroy(handle_);
    context_->must(upload, "prepare a recording");
  }
}

DriverRecording::~DriverRecording() {
  context_->enter();
  context_->api().graph_exec_destroy(handle_);
}

}  // namespace plait::cuda
