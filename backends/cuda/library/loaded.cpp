// Opening the libraries, filling the tables, making the handles.
#include "backends/cuda/library/loaded.h"

#include <mutex>
#include <vector>

#include "backends/cuda/driver/shared_library.h"
#include "backends/cuda/library/library.h"
#include "base/error.h"

namespace plait::cuda {
namespace {

// What the code here relies on: the graph interface without the older ones beside it; Hopper.
constexpr std::size_t kLeastLt = 120000, kLeastDnn = 90000;

template <class F>
void take(const SharedLibrary& library, const char* name, F& function, std::string& why) {
  function = reinterpret_cast<F>(library.symbol(name));
  if (function == nullptr && why.empty()) why = str(library.name, " has no ", name);
}

template <class Api>
struct Loaded {
  Api api;
  SharedLibrary library{};
  std::string why{};  // empty: it is there
};

void want_version(std::size_t found, std::size_t least, const char* name, std::string& why) {
  if (found >= least) return;
  why = str(name, " is version ", library_version(found), "; at least ", library_version(least),
            " is needed");
}

Loaded<LtApi> load_lt() {
  Loaded<LtApi> out;
  const SharedLibrary lib = open_library({"libcublasLt.so.13", "libcublasLt.so.12"});
  if (!lib) {
    out.why = str("cuBLASLt is not there: ", lib.why);
    return out;
  }
  out.library = lib;
  LtApi& api = out.api;
  take(lib, "cublasLtCreate", api.create, out.why);
  take(lib, "cublasLtGetVersion", api.version, out.why);
  take(lib, "cublasLtGetStatusString", api.text, out.why);
  take(lib, "cublasLtMatmul", api.matmul, out.why);
  take(lib, "cublasLtMatmulDescCreate", api.desc_create, out.why);
  take(lib, "cublasLtMatmulDescDestroy", api.desc_destroy, out.why);
  take(lib, "cublasLtMatmulDescSetAttribute", api.desc_set, out.why);
  take(lib, "cublasLtMatrixLayoutCreate", api.layout_create, out.why);
  take(lib, "cublasLtMatrixLayoutDestroy", api.layout_destroy, out.why);
  take(lib, "cublasLtMatrixLayoutSetAttribute", api.layout_set, out.why);
  take(lib, "cublasLtMatmulPreferenceCreate", api.preference_create, out.why);
  take(lib, "cublasLtMatmulPreferenceDestroy", api.preference_destroy, out.why);
  take(lib, "cublasLtMatmulPreferenceSetAttribute", api.preference_set, out.why);
  take(lib, "cublasLtMatmulAlgoGetHeuristic", api.heuristic, out.why);
  take(lib, "cublasLtMatmulAlgoCheck", api.algo_check, out.why);
  if (out.why.empty()) want_version(api.version(), kLeastLt, "cuBLASLt", out.why);
  return out;
}

Loaded<DnnApi> load_dnn() {
  Loaded<DnnApi> out;
  // cuDNN opens these two by name: opened here, they are found wherever they lie.
  open_library({"libcublasLt.so.13", "libcublasLt.so.12"});
  open_library({"libnvrtc.so.13", "libnvrtc.so.12"});
  const SharedLibrary lib = open_library({"libcudnn.so.9"});
  if (!lib) {
    out.why = str("cuDNN is not there: ", lib.why);
    return out;
  }
  out.library = lib;
  DnnApi& api = out.api;
  take(lib, "cudnnCreate", api.create, out.why);
  take(lib, "cudnnGetVersion", api.version, out.why);
  take(lib, "cudnnGetErrorString", api.text, out.why);
  take(lib, "cudnnGetLastErrorString", api.last_error, out.why);
  take(lib, "cudnnSetStream", api.set_stream, out.why);
  take(lib, "cudnnBackendCreateDescriptor", api.make, out.why);
  take(lib, "cudnnBackendDestroyDescriptor", api.destroy, out.why);
  take(lib, "cudnnBackendFinalize", api.finalize, out.why);
  take(lib, "cudnnBackendSetAttribute", api.set, out.why);
  take(lib, "cudnnBackendGetAttribute", api.get, out.why);
  take(lib, "cudnnBackendExecute", api.execute, out.why);
  if (out.why.empty()) want_version(api.version(), kLeastDnn, "cuDNN", out.why);
  return out;
}

const Loaded<LtApi>& lt() {
  static const Loaded<LtApi> loaded = load_lt();
  return loaded;
}

const Loaded<DnnApi>& dnn() {
  static const Loaded<DnnApi> loaded = load_dnn();
  return loaded;
}

/// cuDNN's handles that nobody holds. Threads take and bring them, behind the lock.
struct FreeHandles {
  std::mutex mutex;
  std::vector<cudnnHandle_t> handles;
};

FreeHandles& free_handles() {
  static auto* const free = new FreeHandles;  // outlives whoever brings one back
  return *free;
}

void bring_back(cudnnHandle_t handle) {
  const std::lock_guard lock(free_handles().mutex);
  free_handles().handles.push_back(handle);
}

template <class Api>
const Api* usable(const Loaded<Api>& loaded, std::string& why) {
  if (loaded.why.empty()) return &loaded.api;
  why = loaded.why;
  return nullptr;
}

}  // namespace

const LtApi* lt_api(std::string& why) { return usable(lt(), why); }

const DnnApi* dnn_api(std::string& why) { return usable(dnn(), why); }

LibraryVersion lt_version() {
  if (!lt().why.empty()) return {};
  return {library_version(lt().api.version()), lt().library.file()};
}

LibraryVersion dnn_version() {
  if (!dnn().why.empty()) return {};
  return {library_version(dnn().api.version()), dnn().library.file()};
}

cublasLtHandle_t lt_handle(std::string& why) {
  static cublasLtHandle_t handle = nullptr;
  static std::mutex
      making;  // a thread that opens libraries may come beside the one that makes calls
  const std::lock_guard lock(making);
  const LtApi* api = lt_api(why);
  if (handle != nullptr || api == nullptr) return handle;
  const cublasStatus_t status = api->create(&handle);
  if (status == CUBLAS_STATUS_SUCCESS) return handle;
  why = str("cuBLASLt does not start: ", api->text(status));
  return handle = nullptr;
}

DnnHandle lease_dnn_handle(std::string& why) {
  const DnnApi* api = dnn_api(why);
  if (api == nullptr) return nullptr;
  FreeHandles& free = free_handles();
  cudnnHandle_t handle = nullptr;
  {
    const std::lock_guard lock(free.mutex);
    if (!free.handles.empty()) {
      handle = free.handles.back();
      free.handles.pop_back();
    }
  }
  if (handle != nullptr) return {handle, bring_back};
  const cudnnStatus_t status = api->create(&handle);
  if (status == CUDNN_STATUS_SUCCESS) return {handle, bring_back};
  why = str("cuDNN does not start: ", api->text(status));
  return nullptr;
}

DnnHandle dnn_handle(std::string& why) {
  static DnnHandle handle;  // calls are made by one thread at a time
  if (!handle) handle = lease_dnn_handle(why);
  return handle;
}

void open_libraries(bool cublaslt, bool cudnn) {
  if (cublaslt) lt();
  if (!cudnn) return;
  // What it opens by itself with the first plan.
  for (const char* part : {"libcudnn_graph.so.9", "libcudnn_engines_precompiled.so.9"}) {
    open_beside(dnn().library, part);
  }
}

std::string library_version(std::size_t number) {
  return str(number / 10000, ".", number / 100 % 100, ".", number % 100);
}

}  // namespace plait::cuda
