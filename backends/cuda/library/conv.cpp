// Convolutions by cuDNN: the first engine that makes a plan within the workspace, or the one that
// an id names.
#include <limits>
#include <memory>

#include "backends/cuda/library/calls.h"
#include "backends/cuda/library/dnn_graph.h"
#include "backends/cuda/library/dnn_plans.h"

namespace plait::cuda {
namespace {

constexpr const char* kKinds[] = {"forward", "data", "filter"};
constexpr std::size_t kMostTuned = 16;

class DnnCall : public LibraryCall {
 public:
  DnnCall(const DnnApi& api, const Convolution& convolution, const LibraryProblem& problem)
      : api_(api), c_(convolution), problem_(problem) {
    if (!problem.options.variant.empty()) {
      const std::shared_ptr<const NamedPlan> named = named_plan(api, {convolution, problem});
      handle_ = named->handle;
      graph_ = {named, &named->graph};
      chosen_ = {named, &named->plan};
      return;
    }
    handle_ = must_have_handle();
    graph_ = std::make_shared<DnnGraph>(make_dnn_graph(api, handle_.get(), convolution, problem));
    engines_ = find_engines(api, *graph_, problem);
    std::string why = "no engine takes it";
    for (const DnnEngine& engine : engines_) {
      if (try_plan(engine, chosen_, why)) return;
    }
    throw RunError(why);
  }

  std::string id() const override {
    const bool tf32 = problem_.dtype == DType::f32 && problem_.options.tf32;
    return str("cudnn.", kKinds[c_.kind], ".", problem_.dtype, tf32 ? ".tf32." : ".",
               chosen_->text);
  }

  std::int64_t workspace_bytes() const override { return chosen_->workspace; }

  const char* run(void* stream, const LibraryOperands& operands) const override {
    const cudnnStatus_t placed = api_.set_stream(handle_.get(), static_cast<cudaStream_t>(stream));
    if (placed != CUDNN_STATUS_SUCCESS) return api_.text(placed);
    try {
      if (!pack_ || !same(operands, packed_)) pack(operands);
    } catch (const RunError& e) {
      said_ = e.what();
      return said_.c_str();
    }
    const cudnnStatus_t status = api_.execute(handle_.get(), chosen_->plan.raw(), pack_.raw());
    return status == CUDNN_STATUS_SUCCESS ? nullptr : api_.text(status);
  }

  std::int64_t tune_bytes() const override { return problem_.options.workspace_limit; }

  double tune(void* stream, const LibraryOperands& operands, int most) override {
    if (engines_.empty()) engines_ = find_engines(api_, *graph_, problem_);
    constexpr double kNever = std::numeric_limits<double>::infinity();
    double best = kNever;
    std::shared_ptr<const DnnPlan> winner;
    // For gradients of weights the first guesses are often not the best.
    std::size_t left =
        c_.kind == Convolution::kFilter ? kMostTuned : static_cast<std::size_t>(most);
    std::string why = "there is none";
    for (const DnnEngine& engine : engines_) {
      // Those that make no plan, or want too much, are not counted: the sure ones come last.
      if (left == 0) break;
      if (!try_plan(engine, chosen_, why)) continue;
      --left;
      const double seconds = seconds_of(stream, *this, operands, best, why);
      if (seconds < 0 || seconds >= best) continue;
      best = seconds;
      std::swap(winner, chosen_);
    }
    if (best == kNever) throw RunError("none of cuDNN's engines runs: " + why);
    chosen_ = std::move(winner);
    return best;
  }

 private:
  bool try_plan(const DnnEngine& engine, std::shared_ptr<const DnnPlan>& into,
                std::string& why) const {
    try {
      DnnPlan plan = make_dnn_plan(api_, handle_.get(), engine);
      if (plan.workspace > problem_.options.workspace_limit) {
        why = str("it wants ", plan.workspace, " bytes of workspace");
        return false;
      }
      into = std::make_shared<DnnPlan>(std::move(plan));
      return true;
    } catch (const RunError& e) {
      why = e.what();
      return false;
    }
  }

  static bool same(const LibraryOperands& x, const LibraryOperands& y) {
    return x.a == y.a && x.b == y.b && x.c == y.c && x.workspace == y.workspace &&
           x.bias == y.bias && x.residual == y.residual;
  }

  void pack(const LibraryOperands& o) const {
    const auto in = static_cast<std::int64_t>(size_of(problem_.dtype));
    const auto out = static_cast<std::int64_t>(size_of(problem_.result));
    const bool is_data = c_.kind == Convolution::kData, is_filter = c_.kind == Convolution::kFilter;
    const std::int64_t to = is_data ? c_.x.offset : is_filter ? c_.w.offset : c_.y.offset;
    std::vector<std::int64_t> ids{kOperandA, kOperandB, kOperandC};
    std::vector<const void*> at{o.a + (is_data ? c_.y : c_.x).offset * in,
                                o.b + (is_filter ? c_.y : c_.w).offset * in, o.c + to * out};
    if (problem_.epilogue.bias) {
      ids.push_back(kOperandBias);
      at.push_back(o.bias);
    }
    if (problem_.epilogue.residual) {
      ids.push_back(kOperandResidual);
      at.push_back(o.residual + to * out);
    }
    const auto count = static_cast<std::int64_t>(ids.size());
    Descriptor pack(api_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, at.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, o.workspace);
    pack.finalize();
    pack_ = std::move(pack);
    packed_ = o;
  }

  const DnnApi& api_;
  DnnHandle handle_;
  Convolution c_;
  LibraryProblem problem_;
  std::shared_ptr<const DnnGraph> graph_;
  std::vector<DnnEngine> engines_;
  std::shared_ptr<const DnnPlan> chosen_;
  mutable Descriptor pack_;  // of the addresses of the last run
  mutable LibraryOperands packed_;
  mutable std::string said_;
};

}  // namespace

std::unique_ptr<LibraryCall> make_dnn_call(const Convolution& convolution,
                                           const LibraryProblem& problem, std::string& why) {
  if (problem.dtype == DType::f64) {
    why = "its convolutions are not in f64";
    return nullptr;
  }
  const DnnApi* api = dnn_api(why);
  if (api == nullptr) return nullptr;
  try {
    return std::make_unique<DnnCall>(*api, convolution, problem);
  } catch (const RunError& e) {
    why = e.what();
    return nullptr;
  }
}

}  // namespace plait::cuda
