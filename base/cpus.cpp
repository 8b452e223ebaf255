// Affinity masks of any length, and the leave to use tiles.
#include "base/cpus.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

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

#if defined(__x86_64__)
bool ask_for_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  const bool has_bf16 = ((d >> 22) & 1) != 0, has_tiles = ((d >> 24) & 1) != 0;
  if (!has_bf16 || !has_tiles) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XTILEDATA
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#else
bool ask_for_amx() { return false; }
#endif

}  // namespace

bool may_use_amx() {
  static const bool may = ask_for_amx();
  return may;
}

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
