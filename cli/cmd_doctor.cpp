// plait doctor: what of this machine plait uses, what is missing, what that costs and what to do.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/pool.h"
#include "backends/plugin.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/json.h"
#include "codegen/cache.h"
#include "codegen/compile.h"
#include "io/file.h"

namespace plait::cli {
namespace {

namespace files = std::filesystem;

constexpr Flag kDoctorFlags[] = {
    {"--measure", "",
     "time this processor anew, and copies in the GPU's memory (takes 2 GB of it)"},
    {"-o", "FILE", "write the measured device of --backend: for --device here or elsewhere"},
    kTargetFlag,
    kJsonFlag,
};

Finding cpus() {
  const std::string isa(cpu::name_of(cpu::detect_isa()));
  try {
    return {"cpus", true, str(cpu::default_threads(), " for plait, kernels for ", isa), ""};
  } catch (const UserError& error) {
    return {"cpus", false, error.what(), "--backend cpu cannot run: unset PLAIT_THREADS"};
  }
}

Finding memory() {
  const auto page = static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  const auto bytes = [page](int which) {
    return page * static_cast<std::int64_t>(::sysconf(which));
  };
  return {
      "memory", true,
      str(bytes_text(bytes(_SC_PHYS_PAGES)), ", ", bytes_text(bytes(_SC_AVPHYS_PAGES)), " unused"),
      ""};
}

Finding compiler() {
  try {
    return {"C compiler", true, codegen::compiler_identity(), ""};
  } catch (const RunError& error) {
    return {"C compiler", false, error.what(), "--backend cpu cannot run; ref can"};
  }
}

/// The nearest folder that is there must let us write.
bool can_write(files::path folder) {
  std::error_code error;
  while (!folder.empty() && !files::exists(folder, error) && folder != folder.parent_path()) {
    folder = folder.parent_path();
  }
  return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

Finding cache() {
  constexpr const char* kCosts =
      "kernels are compiled anew by every run: set PLAIT_CACHE to a folder that can be written";
  try {
    const std::string folder = codegen::cache_folder();
    if (std::string why = codegen::cache::refusal_of(folder); !why.empty()) {
      return {"cache", false, std::move(why), kCosts};
    }
    if (!can_write(folder)) return {"cache", false, folder + " cannot be written", kCosts};
    std::size_t count = 0;
    std::int64_t bytes = 0;
    std::error_code error;
    for (files::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
      struct stat about {};
      if (::lstat(i->path().c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
      ++count;
      bytes += about.st_size;
    }
    return {"cache", true,
            str(folder, ": ", counted(count, "file", "files"), ", ", bytes_text(bytes),
                " of at most ", codegen::cache::kMaxBytes >> 20, " MiB"),
            ""};
  } catch (const RunError& error) {
    return {"cache", false, error.what(), kCosts};
  }
}

/// What costs on the cpu are computed from.
Finding device(const Args& args) {
  if (args.has("--measure")) {
    return {"device", true, device_text(measure_processor()) + "; measured now", ""};
  }
  const std::optional<DeviceModel> kept = device_of(args, "cpu");
  if (kept) return {"device", true, device_text(*kept), ""};
  return {"device", true, device_text(*built_in_device("cpu")),
          "times are predicted for a processor like many: --measure times this one"};
}

/// The target's, with the rates that were measured on it.
DeviceModel measured_device(const std::string& backend) {
  if (backend == "cpu") return measured_processor();
  const std::unique_ptr<Target> target = make_target(backend);
  std::optional<DeviceModel> measured = target->measured();
  if (!measured) fail("-o: backend ", backend, " has no device here that can be measured");
  const auto& all = target->device().operations_per_second;
  measured->operations_per_second.insert(all.begin(), all.end());
  return *measured;
}

std::string text_of(const std::vector<Finding>& findings) {
  Table table;
  std::string trouble;
  for (const Finding& f : findings) {
    table.rows.push_back({f.part, f.found ? (f.costs.empty() ? "ok" : "note") : "missing", f.what});
    if (!f.costs.empty()) trouble += str("  ", f.part, ": ", f.costs, "\n");
  }
  return table.text() + (trouble.empty() ? "nothing is missing\n" : "what this means:\n" + trouble);
}

void run_doctor(const Args& args) {
  std::vector<Finding> findings{cpus(), device(args), memory(), compiler(), cache()};
  if (args.has("-o")) {
    io::write_file(args.text("-o"), {to_text(measured_device(args.text("--backend", "cpu")))});
  }
  const std::vector<Finding> plugin = plugin_findings(args.has("--measure"));
  findings.insert(findings.end(), plugin.begin(), plugin.end());
  if (!args.has("--json")) return print(text_of(findings));
  Json list = Json::array();
  for (const Finding& f : findings) {
    list.push_back({{"part", f.part}, {"found", f.found}, {"what", f.what}, {"costs", f.costs}});
  }
  print_json(list);
}

}  // namespace

constinit const Command kDoctor{
    .name = "doctor",
    .usage = "[options]",
    .doc = "says what this machine has for plait, and what is missing",
    .flags = kDoctorFlags,
    .details =
        "One line per part: ok, missing, or note where it is there but not as it should be;\n"
        "then what each that is missing costs and what to do about it. CUDA's part is\n"
        "looked for beside the program, in ../lib, or where PLAIT_PLUGINS says. device is what\n"
        "predicted times are computed from: a datasheet that is built in, or this processor as\n"
        "it was measured, which the cache keeps; --measure times it anew and keeps that.\n",
    .run = run_doctor};

}  // namespace plait::cli
