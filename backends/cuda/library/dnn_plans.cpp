// The table of plans that live, and the threads that make new ones.
#include "backends/cuda/library/dnn_plans.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <initializer_list>
#include <map>
#include <mutex>
#include <system_error>

#include "base/cpus.h"

namespace plait::cuda {
namespace {

constexpr std::size_t kThreads = 6;  // each makes a handle of its own, which takes a while too

void add_words(std::string& key, std::initializer_list<std::int64_t> words) {
  for (const std::int64_t word : words) key += str(' ', word);
}

/// All that a plan depends on.
std::string key_of(const DnnWish& wish) {
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

std::shared_ptr<const NamedPlan> make(const DnnApi& api, const DnnHandle& handle,
                                      const DnnWish& wish, const std::string& key) {
  auto out = std::make_shared<NamedPlan>();
  out->handle = handle;
  out->graph = make_dnn_graph(api, handle.get(), wish.convolution, wish.problem);
  const DnnEngine engine = engine_from(api, out->graph, wish.problem.options.variant);
  out->plan = make_dnn_plan(api, handle.get(), engine);
  table().add(key, out);
  return out;
}

}  // namespace

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

std::shared_ptr<const NamedPlan> named_plan(const DnnApi& api, const DnnWish& wish) {
  const std::string key = key_of(wish);
  if (auto known = table().find(key)) return known;
  return make(api, must_have_handle(), wish, key);
}

std::vector<std::shared_ptr<const NamedPlan>> named_plans(const DnnApi& api,
                                                          const std::vector<DnnWish>& wishes,
                                                          const std::function<void()>& enter) {
  std::map<std::string, const DnnWish*> distinct;
  for (const DnnWish& wish : wishes) distinct.emplace(key_of(wish), &wish);
  std::vector<std::shared_ptr<const NamedPlan>> out;
  std::vector<std::pair<std::string, const DnnWish*>> todo;
  for (const auto& [key, wish] : distinct) {
    if (auto known = table().find(key)) {
      out.push_back(std::move(known));
    } else {
      todo.emplace_back(key, wish);
    }
  }
  const std::size_t first = out.size();
  out.resize(first + todo.size());
  std::atomic<std::size_t> next{0};
  // cuDNN takes calls of many threads as long as no two use one handle: each thread has its own,
  // and gives it away with its plans when it is done. Each writes only the places it has taken.
  const auto work = [&] {
    std::string ignored;  // whoever makes a call hears it
    const DnnHandle handle = lease_dnn_handle(ignored);
    for (std::size_t i = next++; handle && i < todo.size(); i = next++) {
      try {
        out[first + i] = make(api, handle, *todo[i].second, todo[i].first);
      } catch (const RunError&) {  // as above
      }
    }
  };
  const std::size_t cpus = process_cpus().size();
  std::vector<std::future<void>> others;
  try {
    while (others.size() + 1 < std::min({kThreads, cpus, todo.size()})) {
      others.push_back(std::async(std::launch::async, [&] {
        enter();
        work();
      }));
    }
  } catch (const std::system_error&) {  // no more threads to be had: those there are have to do
  }
  if (!todo.empty()) work();
  for (std::future<void>& other : others) other.get();
  std::erase(out, nullptr);
  return out;
}

}  // namespace plait::cuda
