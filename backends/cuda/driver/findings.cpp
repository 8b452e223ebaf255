// Looking for each part on its own: that one is missing says nothing about the next.
#include "backends/cuda/driver/findings.h"

#include <array>
#include <cstdio>
#include <functional>

#include "backends/cuda/driver/facts.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/library/library.h"
#include "base/error.h"
#include "base/text.h"

namespace plait::cuda {
namespace {

constexpr const char* kNoCuda = "--backend cuda cannot run; all else can";

std::string with_unit(double value, double unit, const char* name) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value / unit, name);
  return text.data();
}

/// Runs `look`; a part that raises is one that is missing.
void add(std::vector<Finding>& out, const std::string& part, const std::string& costs,
         const std::function<Finding()>& look) {
  try {
    out.push_back(look());
  } catch (const UserError& error) {
    out.push_back({part, false, error.what(), costs});
  } catch (const RunError& error) {
    out.push_back({part, false, error.what(), costs});
  }
}

Finding gpu_finding(const DriverApi& api, int index, bool chosen) {
  const DeviceFacts facts = device_facts(api, index);
  Finding out;
  out.part = str("gpu ", index);
  out.what =
      str(facts.name, ", ", facts.architecture, ", ", facts.multiprocessors, " multiprocessors, ",
          with_unit(static_cast<double>(facts.total_bytes), 1e9, "GB"));
  if (facts.major != kMajor) {
    out.costs = str("--backend cuda is made for compute capability ", kMajor, ".0 (Hopper)");
  } else if (chosen) {
    const auto free = static_cast<double>(free_bytes_of(api, index));
    out.what += str(" (", with_unit(free, 1e9, "GB"), " free)");
  }
  return out;
}

void add_gpus(bool measure, std::vector<Finding>& out) {
  const DriverApi& api = driver();
  int chosen = -1;
  add(out, "gpu", kNoCuda, [&]() -> Finding {
    chosen = chosen_device(api);
    return gpu_finding(api, chosen, true);
  });
  for (int i = 0, count = device_count(api); i < count; ++i) {
    if (i == chosen) continue;
    add(out, str("gpu ", i), "", [&] { return gpu_finding(api, i, false); });
  }
  if (!measure || chosen < 0) return;
  add(out, "gpu memory", "", [&]() -> Finding {
    const double rate = copy_bytes_per_second(api, chosen);
    return {"gpu memory", true, with_unit(rate, 1e9, "GB/s read and written by copies"), ""};
  });
}

Finding nvrtc_finding(int driver_version) {
  const NvrtcFacts& nvrtc = find_nvrtc(driver_version);
  if (nvrtc.major == 0) {
    return {"nvrtc", false, nvrtc.why,
            "--backend cuda cannot run: install the CUDA toolkit's NVRTC (libnvrtc.so.13 or .12), "
            "or set CUDA_HOME to where it is"};
  }
  Finding out{"nvrtc", true, str(nvrtc.version(), " (", nvrtc.name, ")"), ""};
  if (driver_version != 0 && nvrtc.major > driver_version / 1000) {
    out.costs = str("the driver is older (CUDA ", version_text(driver_version),
                    ") and may refuse its code: update the driver, or install NVRTC ",
                    driver_version / 1000);
  }
  return out;
}

Finding library_finding(const char* part, const std::string& version, const std::string& why,
                        const char* costs) {
  if (version.empty()) return {part, false, why, costs};
  return {part, true, version, ""};
}

}  // namespace

void add_findings(bool measure, std::vector<Finding>& out) {
  int driver_version = 0;
  add(out, "driver", kNoCuda, [&]() -> Finding {
    driver_version = driver().version;
    return {"driver", true, str("CUDA ", version_text(driver_version), " (libcuda.so.1)"), ""};
  });
  if (driver_version != 0) add_gpus(measure, out);
  add(out, "nvrtc", kNoCuda, [&] { return nvrtc_finding(driver_version); });
  const LibraryVersions found = library_versions();
  out.push_back(library_finding("cublasLt", found.cublaslt, found.cublaslt_why,
                                "matrix products run on generated kernels: slower. It comes with "
                                "the CUDA toolkit (libcublasLt.so.13 or .12)"));
  out.push_back(library_finding("cudnn", found.cudnn, found.cudnn_why,
                                "convolutions run on generated kernels: slower. Install cuDNN 9 "
                                "(libcudnn.so.9)"));
}

}  // namespace plait::cuda
