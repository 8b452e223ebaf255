// Finding, measuring and keeping devices.
#include "cli/device.h"

#include <algorithm>
#include <fstream>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/measure.h"
#include "backends/cpu/pool.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "codegen/cache.h"
#include "io/file.h"
#include "profile/profile.h"

namespace plait::cli {
namespace {

constexpr const char* kKind = "device";  // of the cache's entries

/// The kinds of shares too: a model kept before a kernel was written knows nothing of it.
std::uint64_t key_of_processor() {
  std::string key =
      str(machine_name(), "\n", cpu::name_of(cpu::detect_isa()), "\n", cpu::default_threads());
  const DeviceModel built_in = *built_in_device("cpu");
  for (const auto& [kind, share] : built_in.share) key += "\n" + kind;
  return fnv1a64(key);
}

std::optional<DeviceModel> kept_processor() {
  const std::optional<std::string> kept = codegen::cache::load(kKind, key_of_processor());
  if (!kept) return std::nullopt;
  try {
    DeviceModel device = device_model_from_text(*kept, "the cache");
    check_usable(device, "the cache");
    return device;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// Operations of f32 that a core of an instruction set begins in a cycle.
double operations_per_cycle(cpu::Isa isa) {
  return isa == cpu::Isa::kPortable ? 8 : isa == cpu::Isa::kAvx2 ? 32 : 64;
}

DeviceModel measured_now() {
  const int threads = cpu::default_threads();
  DeviceModel m = *built_in_device("cpu");
  m.name = machine_name().empty() ? m.name : machine_name();
  m.source = "measured";
  m.processors = threads;
  const profile::Peaks all = profile::measure_peaks(threads);
  const profile::Peaks one = threads > 1 ? profile::measure_peaks(1) : all;
  m.bytes_per_second = m.link_bytes_per_second = std::max(all.gbs, one.gbs) * 1e9;
  m.processor_bytes_per_second = one.gbs * 1e9;
  m.cache_bytes = profile::cache_bytes(threads);
  m.cache_bytes_per_second = profile::measure_cache_gbs(threads) * 1e9;
  m.operations_per_second = {{"f32", std::max(all.gflops, one.gflops) * 1e9}};
  for (const char* unit : {"amx", "avx512bf16"}) {
    const double gflops = profile::measure_dot_gflops(unit, threads);
    if (gflops > 0) m.operations_per_second[unit] = gflops * 1e9;
  }
  m.cycles_per_second = one.gflops * 1e9 / operations_per_cycle(cpu::detect_isa());
  cpu::measure_shares(m);
  return m;
}

}  // namespace

std::string machine_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos) {
      return std::string(trim(line.substr(colon + 1)));
    }
  }
  return "";
}

DeviceModel measured_processor() {
  if (std::optional<DeviceModel> kept = kept_processor()) return *kept;
  return measure_processor();
}

DeviceModel measure_processor() {
  const DeviceModel measured = measured_now();
  codegen::cache::store(kKind, key_of_processor(), to_text(measured));
  return measured;
}

std::optional<DeviceModel> device_of(const Args& args, std::string_view backend) {
  if (!args.has("--device")) return backend == "cpu" ? kept_processor() : std::nullopt;
  const std::string given = args.text("--device");
  std::optional<DeviceModel> device = built_in_device(given);
  if (!device && !io::is_there(given)) {
    fail("--device ", given, ": there is no file of this name; the built-in devices are ",
         join(built_in_devices(), ", "), ".", suggestion(given, built_in_devices()));
  }
  if (!device) device = device_model_from_text(io::read_file(given), given);
  if (device->backend != backend) {
    fail("--device ", given, ": ", device->name, " is a device of --backend ", device->backend,
         ", not of ", backend);
  }
  check_usable(*device, given);
  return device;
}

std::string device_text(const DeviceModel& d) {
  char rates[96];
  std::snprintf(rates, sizeof rates, "%.3g GB/s, %.3g TFLOP/s of f32", d.bytes_per_second * 1e-9,
                d.operations("f32") * 1e-12);
  return str(d.name, ", ", d.source, ": ", counted(d.processors, "processor", "processors"), ", ",
             rates);
}

}  // namespace plait::cli
