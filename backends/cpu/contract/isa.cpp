// Which instruction sets this machine and its system offer, and the kernels of each.
#include <cstdlib>
#include <iterator>
#include <string>

#include "backends/cpu/contract/blocking.h"
#include "base/cpus.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace plait::cpu {
namespace {

constexpr std::string_view kIsaNames[] = {"portable", "avx2", "avx512", "avx512bf16", "amx"};

#if defined(__x86_64__)
Isa machine_isa() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && ((c >> 29) & 1) != 0;
  if (!avx2 || !f16c) return Isa::kPortable;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!avx512) return Isa::kAvx2;
  if (!__builtin_cpu_supports("avx512bf16")) return Isa::kAvx512;
  return may_use_amx() ? Isa::kAmx : Isa::kAvx512Bf16;
}
#else
Isa machine_isa() { return Isa::kPortable; }
#endif

}  // namespace

std::string_view name_of(Isa isa) { return kIsaNames[static_cast<int>(isa)]; }

Isa detect_isa() {
  static const Isa machine = machine_isa();
  const char* wanted = std::getenv("PLAIT_CPU_ISA");
  if (wanted == nullptr || *wanted == '\0') return machine;
  for (std::size_t i = 0; i < std::size(kIsaNames); ++i) {
    if (kIsaNames[i] == wanted) return std::min(machine, static_cast<Isa>(i));
  }
  fail("PLAIT_CPU_ISA is \"", wanted, "\"; it may be portable, avx2, avx512, avx512bf16 or amx");
}

bool has_f32_tiles() {
  const char* wanted = std::getenv("PLAIT_CPU_F32_TILES");
  return wanted == nullptr || std::string_view(wanted) != "0";
}

const Kernels& kernels_of(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAmx:
      return amx_kernels();
    case Isa::kAvx512Bf16:
      return avx512bf16_kernels();
    case Isa::kAvx512:
      return avx512_kernels();
    case Isa::kAvx2:
      return avx2_kernels();
#endif
    default:
      return portable_kernels();
  }
}

}  // namespace plait::cpu
