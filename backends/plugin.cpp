// Finding and loading libplait_cuda.so. It stays loaded: code of exceptions may come from it.
#include "backends/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "backends/backends.h"
#include "backends/cuda/plugin.h"

namespace plait {
namespace {

namespace files = std::filesystem;

constexpr const char* kFile = "libplait_cuda.so";

struct Plugin {
  decltype(&plait_cuda_make_target) make_target = nullptr;
  decltype(&plait_cuda_findings) findings = nullptr;
};

/// $PLAIT_PLUGINS, beside the program, and in lib beside its folder.
std::vector<files::path> folders() {
  std::vector<files::path> out;
  if (const char* given = std::getenv("PLAIT_PLUGINS"); given != nullptr && *given != '\0') {
    return {given};
  }
  std::error_code error;
  const files::path program = files::read_symlink("/proc/self/exe", error);
  if (!error) out = {program.parent_path(), program.parent_path().parent_path() / "lib"};
  return out;
}

files::path find_file() {
  for (const files::path& folder : folders()) {
    std::error_code error;
    if (files::exists(folder / kFile, error)) return folder / kFile;
  }
  if (const char* given = std::getenv("PLAIT_PLUGINS"); given != nullptr && *given != '\0') {
    fail("there is no ", kFile, " in ", given, " (PLAIT_PLUGINS)");
  }
  fail("this build has no CUDA part (", kFile,
       "): install the CUDA toolkit and build again, or run with --backend cpu");
}

template <class Function>
Function symbol(void* library, const char* name) {
  void* address = ::dlsym(library, name);
  if (address == nullptr) fail(kFile, " is of another version of plait: build it again");
  return reinterpret_cast<Function>(address);
}

Plugin load() {
  const files::path path = find_file();
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* said = ::dlerror();
    fail(kFile, " cannot be loaded: ", said != nullptr ? said : "unknown");
  }
  const auto stamp = symbol<decltype(&plait_cuda_interface)>(library, "plait_cuda_interface");
  if (const std::string theirs = stamp(), ours = plugin_interface(); theirs != ours) {
    fail(kFile, " is of another build of plait (", theirs, ", not ", ours, "): build it again");
  }
  Plugin out;
  out.make_target = symbol<decltype(out.make_target)>(library, "plait_cuda_make_target");
  out.findings = symbol<decltype(out.findings)>(library, "plait_cuda_findings");
  return out;
}

const Plugin& plugin() {
  static const Plugin once = load();  // tried anew after a failure
  return once;
}

}  // namespace

namespace {

cuda::CudaOptions cuda_options(const TargetOptions& options) {
  cuda::CudaOptions wanted;
  wanted.tf32 = options.tf32;
  wanted.fast = options.fast;
  wanted.model = options.device;
  return wanted;
}

}  // namespace

std::unique_ptr<Target> make_plugin_target(const TargetOptions& options) {
  return std::unique_ptr<Target>(plugin().make_target(cuda_options(options)));
}

std::unique_ptr<Target> make_plugin_planner(const TargetOptions& options, const std::string& why) {
  cuda::CudaOptions wanted = cuda_options(options);
  wanted.without = why;
  return std::unique_ptr<Target>(plugin().make_target(wanted));
}

Decision plugin_available() {
  try {
    make_plugin_target({});
    return Decision::allow();
  } catch (const UserError& error) {
    return Decision::forbid(error.what());
  } catch (const RunError& error) {
    return Decision::forbid(error.what());
  }
}

std::vector<Finding> plugin_findings(bool measure) {
  std::vector<Finding> out;
  try {
    const Plugin& loaded = plugin();
    out.push_back({"cuda part", true, kFile, ""});
    loaded.findings(measure, out);
  } catch (const UserError& error) {
    out.push_back({"cuda part", false, error.what(), "--backend cuda cannot run; all else can"});
  }
  return out;
}

}  // namespace plait
