// Convolutions by cuDNN: the first engine that makes a plan within the workspace, or the one that
// an id names.
#include <algorithm>
#include <map>
#include <memory>

#include "backends/cuda/library/calls.h"
#include "backends/cuda/library/dnn_graph.h"

namespace plait::cuda {
namespace {

constexpr const char* kKinds[] = {"forward", "data", "filter"};
constexpr std::size_t kMostTuned = 16;

struct Plan {
  Descriptor plan;
  std::int64_t workspace = 0;
  std::string text;
};

/// A graph, and the plan that an id names for it. Equal convolutions share one for as long as any
/// of them lives: making a plan takes long.
struct Made {
  DnnGraph graph;
  Plan plan;
};

void add_words(std::string& key, std::initializer_list<std::int64_t> words) {
  for (const std::int64_t word : words) key += str(' ', word);
}

/// All that a plan depends on.
std::string key_of(const Convolution& c, const LibraryProblem& p) {
  std::string key = str(p.options.variant, ' ', p.dtype, ' ', p.result);
  add_words(key, {c.kind, p.options.tf32, p.options.alignment, p.epilogue.bias, p.epilogue.residual,
                  p.epilogue.relu});
  for (const Direction& d : {c.high, c.wide}) {
    add_words(key, {d.x, d.y, d.taps, d.stride, d.dilation, d.before, d.after});
  }
  for (const Placed& t : {c.x, c.w, c.y}) {
    for (const auto& four : {t.sizes, t.strides}) {
      add_words(key, {four[0], four[1], four[2], four[3]});
    }
    // A tensor's alignment follows from where it begins.
    add_words(key, {t.offset % p.options.alignment});
  }
  return key;
}

class DnnCall : public LibraryCall {
 public:
  DnnCall(const DnnApi& api, cudnnHandle_t handle, const Convolution& convolution,
          const LibraryProblem& problem)
      : api_(api), handle_(handle), c_(convolution), problem_(problem) {
    if (!problem.options.variant.empty()) {
      take_named();
      return;
    }
    graph_ = std::make_shared<DnnGraph>(make_dnn_graph(api, handle, convolution, problem));
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
    const cudnnStatus_t placed = api_.set_stream(handle_, static_cast<cudaStream_t>(stream));
    if (placed != CUDNN_STATUS_SUCCESS) return api_.text(placed);
    try {
      if (!pack_ || !same(operands, packed_)) pack(operands);
    } catch (const RunError& e) {
      said_ = e.what();
      return said_.c_str();
    }
    const cudnnStatus_t status = api_.execute(handle_, chosen_->plan.raw(), pack_.raw());
    return status == CUDNN_STATUS_SUCCESS ? nullptr : api_.text(status);
  }

  std::int64_t tune_bytes() const override { return problem_.options.workspace_limit; }

  double tune(void* stream, const LibraryOperands& operands, int most) override {
    if (engines_.empty()) engines_ = find_engines(api_, *graph_, problem_);
    double best = -1;
    std::shared_ptr<const Plan> winner;
    // For gradients of weights the first guesses are often not the best.
    const std::size_t tried =
        c_.kind == Convolution::kFilter ? kMostTuned : static_cast<std::size_t>(most);
    const std::size_t count = std::min({engines_.size(), tried, kMostTuned});
    std::string why;
    for (std::size_t i = 0; i < count; ++i) {
      if (!try_plan(engines_[i], chosen_, why)) continue;
      const double seconds = seconds_of(stream, *this, operands);
      if (seconds < 0 || (best >= 0 && seconds >= best)) continue;
      best = seconds;
      std::swap(winner, chosen_);
    }
    if (best < 0) throw RunError(str("none of cuDNN's engines runs: ", why));
    chosen_ = std::move(winner);
    return best;
  }

 private:
  /// The plan of the variant, made or shared.
  void take_named() {
    static std::map<std::string, std::weak_ptr<const Made>> known;
    std::weak_ptr<const Made>& place = known[key_of(c_, problem_)];
    std::shared_ptr<const Made> made = place.lock();
    if (!made) {
      auto fresh = std::make_shared<Made>();
      fresh->graph = make_dnn_graph(api_, handle_, c_, problem_);
      fresh->plan = plan_of(engine_from(api_, fresh->graph, problem_.options.variant));
      place = made = fresh;
    }
    graph_ = {made, &made->graph};
    chosen_ = {made, &made->plan};
  }

  Plan plan_of(const DnnEngine& engine) const {
    Plan out;
    out.plan = Descriptor(api_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    out.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle_);
    out.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine.config);
    out.plan.finalize();
    out.workspace = out.plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    out.text = engine.text;
    return out;
  }

  bool try_plan(const DnnEngine& engine, std::shared_ptr<const Plan>& into,
                std::string& why) const {
    try {
      Plan plan = plan_of(engine);
      if (plan.workspace > problem_.options.workspace_limit) {
        why = str("it wants ", plan.workspace, " bytes of workspace");
        return false;
      }
      into = std::make_shared<Plan>(std::move(plan));
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
  cudnnHandle_t handle_;
  Convolution c_;
  LibraryProblem problem_;
  std::shared_ptr<const DnnGraph> graph_;
  std::vector<DnnEngine> engines_;
  std::shared_ptr<const Plan> chosen_;
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
  const cudnnHandle_t handle = dnn_handle(why);
  if (api == nullptr || handle == nullptr) return nullptr;
  try {
    return std::make_unique<DnnCall>(*api, handle, convolution, problem);
  } catch (const RunError& e) {
    why = e.what();
    return nullptr;
  }
}

}  // namespace plait::cuda
