// The threads that make calls beforehand, and how a call is recorded without memory to run on.
#include "backends/cuda/library/prepare.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <string>
#include <system_error>

#include "backends/cuda/driver/api.h"
#include "backends/cuda/library/calls.h"
#include "backends/cuda/library/dnn_plans.h"
#include "backends/cuda/library/loaded.h"
#include "base/cpus.h"

namespace plait::cuda {
namespace {

constexpr std::size_t kDnnThreads = 6;  // each makes a handle of its own, which takes a while too
constexpr std::size_t kLtThreads = 3;

/// `work` on up to `most` threads, this one among them; the others call `enter` first.
void on_threads(std::size_t most, const std::function<void()>& enter,
                const std::function<void()>& work) {
  const std::size_t count = std::min(most, process_cpus().size());
  std::vector<std::future<void>> others;
  try {
    while (others.size() + 1 < count) {
      others.push_back(std::async(std::launch::async, [&] {
        enter();
        work();
      }));
    }
  } catch (const std::system_error&) {  // no more threads to be had: those there are have to do
  }
  if (most > 0) work();
  for (std::future<void>& other : others) other.get();
}

/// Addresses that nothing is read from or written to.
LibraryOperands stand_ins() {
  std::uintptr_t next = 0;
  const auto take = [&] { return reinterpret_cast<char*>(next += std::uintptr_t{1} << 40); };
  return {take(), take(), take(), take(), take(), take()};
}

/// A stream on which calls are recorded and never run: a library loads a kernel with its first
/// launch, recorded or not, which takes 2 to 17 ms.
class Rehearsal {
 public:
  Rehearsal() {
    if (driver().stream_create(&stream_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) stream_ = nullptr;
  }
  ~Rehearsal() {
    if (stream_ != nullptr) driver().stream_destroy(stream_);
  }
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

  void of(const LibraryCall& call) const {
    const DriverApi& api = driver();
    if (stream_ == nullptr) return;
    // Relaxed: kernels are loaded while it is recorded.
    if (api.capture_begin(stream_, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS) return;
    call.run(stream_, stand_ins());  // whoever runs it hears what it refuses
    CUgraph graph = nullptr;
    if (api.capture_end(stream_, &graph) == CUDA_SUCCESS && graph) api.graph_destroy(graph);
  }

 private:
  CUstream stream_ = nullptr;
};

}  // namespace

void prepare_products(const std::vector<LibraryWish>& wishes, const LibraryOptions& options,
                      const std::function<void()>& enter) {
  std::map<std::string, const LibraryWish*> distinct;  // by algorithm: kernels are what is loaded
  for (const LibraryWish& w : wishes) {
    if (library_of(w.id) == "lt") distinct.emplace(w.id, &w);
  }
  std::vector<const LibraryWish*> todo;
  for (const auto& [id, wish] : distinct) todo.push_back(wish);
  std::atomic<std::size_t> next{0};
  on_threads(std::min(kLtThreads, todo.size()), enter, [&] {
    const Rehearsal rehearsal;
    for (std::size_t i = next++; i < todo.size(); i = next++) {
      const LibraryWish& w = *todo[i];
      LibraryOptions as = options;
      as.variant = w.id;
      std::string ignored;
      const auto call = make_library_call(w.contraction, w.result, as, w.epilogue, ignored);
      if (call) rehearsal.of(*call);
    }
  });
}

std::shared_ptr<const void> prepare_convolutions(const std::vector<LibraryWish>& wishes,
                                                 const LibraryOptions& options,
                                                 const std::function<void()>& enter) {
  std::map<std::string, DnnWish> distinct;
  for (const LibraryWish& w : wishes) {
    if (library_of(w.id) != "cudnn") continue;
    DnnWish dnn{{}, {w.contraction.dtype, w.result, options, w.epilogue}};
    dnn.problem.options.variant = algorithm_of(w.id);
    if (!find_convolution(w.contraction, dnn.convolution)) continue;
    std::string key = plan_key(dnn);
    distinct.emplace(std::move(key), std::move(dnn));
  }
  std::string ignored;
  const DnnApi* api = distinct.empty() ? nullptr : dnn_api(ignored);
  if (api == nullptr) return nullptr;
  std::vector<const DnnWish*> todo;
  for (const auto& [key, wish] : distinct) todo.push_back(&wish);
  using Plans = std::vector<std::shared_ptr<const NamedPlan>>;
  auto plans = std::make_shared<Plans>(todo.size());  // a thread writes the places it has taken
  std::atomic<std::size_t> next{0};
  on_threads(std::min(kDnnThreads, todo.size()), enter, [&] {
    std::string why;
    const DnnHandle handle = lease_dnn_handle(why);
    const Rehearsal rehearsal;
    for (std::size_t i = next++; handle && i < todo.size(); i = next++) {
      const DnnWish& wish = *todo[i];
      try {
        const auto plan = (*plans)[i] = named_plan(*api, wish, handle);
        if (plan->handle != handle) continue;  // another program's, which may be running
        if (auto call = make_dnn_call(wish.convolution, wish.problem, why)) rehearsal.of(*call);
      } catch (const RunError&) {  // whoever makes the call hears it
      }
    }
    if (handle) api->set_stream(handle.get(), nullptr);  // the rehearsal's ends here
  });
  return plans;
}

}  // namespace plait::cuda
