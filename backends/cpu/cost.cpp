// Costs of the CPU's kernels.
#include "backends/cpu/cost.h"

#include <algorithm>
#include <utility>

namespace plait::cpu {
namespace {

/// The part of a stage that its slowest thread does.
double share_of(std::int64_t tasks, int threads) {
  const std::int64_t all = std::max<std::int64_t>(tasks, 1);
  return static_cast<double>((all + threads - 1) / threads) / static_cast<double>(all);
}

// Of the caches, what a step finds there of the one before: the rest was pushed out.
constexpr double kStillThere = 0.25;

/// Of bytes that so many tasks read and write: from caches, where they fit.
Predicted predict_memory(const Threads& on, std::int64_t tasks, double bytes) {
  const DeviceModel& d = on.device;
  const auto busy = static_cast<double>(std::clamp<std::int64_t>(tasks, 1, on.threads));
  const double cores = std::min<double>(busy, d.processors);
  if (bytes <= kStillThere * static_cast<double>(d.cache_bytes)) {
    return {bytes / (d.cache_bytes_per_second * cores / d.processors), "cache"};
  }
  const double rate = std::min(d.bytes_per_second, d.processor_bytes_per_second * cores);
  return {bytes / (rate * d.share_of("memory")), "memory"};
}

/// What a step takes whose tasks are handed to threads, and what not.
Predicted longer(const Threads& on, std::int64_t tasks, Predicted a, Predicted b) {
  if (a.seconds < b.seconds) std::swap(a, b);
  if (on.threads > 1 && tasks > 1) a.seconds += on.device.finish_seconds;
  return a;
}

Predicted predict_work(const Threads& on, std::int64_t tasks, double operations, double bytes,
                       const std::string& kind) {
  const double rate = on.device.cycles_per_second * on.device.share_of(kind);
  return longer(on, tasks, {operations * share_of(tasks, on.threads) / rate, "operations"},
                predict_memory(on, tasks, bytes));
}

}  // namespace

std::string kind_of(const Variant& v, DType dtype) {
  const std::string_view how = v.winograd  ? v.swapped ? "winograd.weights" : "winograd"
                               : v.sliding ? "sliding" : name_of(v.isa);
  return str(how, ".", plait::name_of(dtype));
}

Predicted predict_product(const Threads& on, const Variant& variant, DType dtype, const Cost& cost,
                          double bytes) {
  double cycles = cost.run * share_of(cost.tasks, on.threads);
  if (cost.pack > 0) cycles += cost.pack * share_of(cost.pack_tasks, on.threads);
  const double rate = on.device.cycles_per_second * on.device.share_of(kind_of(variant, dtype));
  return longer(on, cost.tasks, {cycles / rate, "products"},
                predict_memory(on, cost.tasks, bytes));
}

Predicted predict_loop(const Threads& on, std::int64_t tasks, double operations,
                       const plait::Work& work) {
  return predict_work(on, tasks, operations, work.bytes, work.operations > 0 ? "product" : "loop");
}

Predicted predict_hand(const Threads& on, std::int64_t tasks, const std::string& op,
                       const plait::Work& work) {
  return predict_work(on, tasks, work.operations, work.bytes, "hand." + op);
}

}  // namespace plait::cpu
