// The table of plans that live.
#include "backends/cuda/library/dnn_plans.h"

#include <initializer_list>
#include <map>
#include <mutex>

namespace plait::cuda {
namespace {

void add_words(std::string& key, std::initializer_list<std::int64_t> words) {
  for (const std::int64_t word : words) key += str(' ', word);
}

/// Plans that live, by key. Threads read and write it, each call behind the lock.
class Table {
 public:
  std::shared_ptr<const NamedPlan> find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return plans_[key].lock();
  }
  void add(const std::string& key, const std::shared_ptr<const NamedPlan>& plan) {
    const std::lock_guard lock(mutex_);
    plans_[key] = plan;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const NamedPlan>> plans_;
};

Table& table() {
  static Table plans;
  return plans;
}

}  // namespace

std::string plan_key(const DnnWish& wish) {
  const Convolution& c = wish.convolution;
  const LibraryProblem& p = wish.problem;
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

DnnHandle must_have_handle() {
  std::string why;
  if (DnnHandle handle = dnn_handle(why)) return handle;
  throw RunError(why);
}

DnnPlan make_dnn_plan(const DnnApi& api, cudnnHandle_t handle, const DnnEngine& engine) {
  DnnPlan out;
  out.plan = Descriptor(api, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  out.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  out.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine.config);
  out.plan.finalize();
  out.workspace = out.plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  out.text = engine.text;
  return out;
}

std::shared_ptr<const NamedPlan> named_plan(const DnnApi& api, const DnnWish& wish,
                                            const DnnHandle& own) {
  const std::string key = plan_key(wish);
  if (auto known = table().find(key)) return known;
  auto out = std::make_shared<NamedPlan>();
  out->handle = own ? own : must_have_handle();
  out->graph = make_dnn_graph(api, out->handle.get(), wish.convolution, wish.problem);
  const DnnEngine engine = engine_from(api, out->graph, wish.problem.options.variant);
  out->plan = make_dnn_plan(api, out->handle.get(), engine);
  table().add(key, out);
  return out;
}

}  // namespace plait::cuda
