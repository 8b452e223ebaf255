// Affinity masks of any length.
#include "base/cpus.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

namespace plait {
namespace {

std::vector<int> affinity_mask() {
  std::vector<int> cpus;
  for (int count = 1024; count <= 1 << 20; count *= 4) {
    cpu_set_t* set = CPU_ALLOC(count);
    const std::size_t bytes = CPU_ALLOC_SIZE(count);
    const bool enough = set != nullptr && ::sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; enough && cpu < count; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (enough) break;
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

}  // namespace

const std::vector<int>& process_cpus() {
  static const std::vector<int> cpus = affinity_mask();
  return cpus;
}

void stay_on(const std::vector<int>& cpus) {
  const int count = *std::max_element(cpus.begin(), cpus.end()) + 1;
  cpu_set_t* set = CPU_ALLOC(count);
  if (set == nullptr) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set);
  for (int cpu : cpus) CPU_SET_S(cpu, bytes, set);
  ::pthread_setaffinity_np(::pthread_self(), bytes, set);
  CPU_FREE(set);
}

}  // namespace plait
