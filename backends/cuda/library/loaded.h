// cuBLASLt and cuDNN as tables of functions, found when first asked for. Their handles live as long
// as the process.
#pragma once

#include <cublasLt.h>
#include <cudnn_graph.h>

#include <memory>
#include <string>
#include <type_traits>

#include "backends/cuda/driver/kept_version.h"

namespace plait::cuda {

struct LtApi {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtGetStatusString) text = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoCheck) algo_check = nullptr;
};

struct DnnApi {
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnGetErrorString) text = nullptr;
  decltype(&cudnnGetLastErrorString) last_error = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) make = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendSetAttribute) set = nullptr;
  decltype(&cudnnBackendGetAttribute) get = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;
};

/// Null with the reason when the library is not there, too old, or lacks something.
const LtApi* lt_api(std::string& why);
const DnnApi* dnn_api(std::string& why);

/// Empty when it cannot be used.
LibraryVersion lt_version();
LibraryVersion dnn_version();

/// Made with the context that is current at the first call. Null with the reason.
cublasLtHandle_t lt_handle(std::string& why);

/// No two threads may use one of cuDNN's handles at once: whoever holds this has it alone.
using DnnHandle = std::shared_ptr<std::remove_pointer_t<cudnnHandle_t>>;
/// One that nobody holds, made if there is none, as above; it comes back when it is dropped.
DnnHandle lease_dnn_handle(std::string& why);
/// That of the thread which makes and runs calls.
DnnHandle dnn_handle(std::string& why);

/// "13.1.0" of the number that either library gives.
std::string library_version(std::size_t number);

}  // namespace plait::cuda
