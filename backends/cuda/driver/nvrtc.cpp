// Finding NVRTC, and one run of it.
#include "backends/cuda/driver/nvrtc.h"

#include <nvrtc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "backends/cuda/driver/kept_version.h"
#include "backends/cuda/driver/shared_library.h"
#include "base/error.h"

namespace plait::cuda {
namespace {

struct NvrtcApi {
  decltype(&::nvrtcVersion) version = nullptr;
  decltype(&::nvrtcGetErrorString) error_string = nullptr;
  decltype(&::nvrtcGetNumSupportedArchs) architecture_count = nullptr;
  decltype(&::nvrtcGetSupportedArchs) architectures = nullptr;
  decltype(&::nvrtcCreateProgram) create = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy = nullptr;
  decltype(&::nvrtcCompileProgram) compile = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) log = nullptr;
  decltype(&::nvrtcGetCUBINSize) code_size = nullptr;
  decltype(&::nvrtcGetCUBIN) code = nullptr;
};

struct Found {
  NvrtcFacts facts;
  NvrtcApi api;
};

// No contraction and no approximations: numbers are what the text says.
constexpr std::array kFlags{"--fmad=false", "--prec-div=true", "--prec-sqrt=true",
                            "--ftz=false",  "--std=c++17",     "--disable-warnings"};

template <class Function>
bool take(const SharedLibrary& library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(library.symbol(name));
  return into != nullptr;
}

bool take_all(const SharedLibrary& lib, NvrtcApi& api) {
  return take(lib, "nvrtcVersion", api.version) &&
         take(lib, "nvrtcGetErrorString", api.error_string) &&
         take(lib, "nvrtcGetNumSupportedArchs", api.architecture_count) &&
         take(lib, "nvrtcGetSupportedArchs", api.architectures) &&
         take(lib, "nvrtcCreateProgram", api.create) &&
         take(lib, "nvrtcDestroyProgram", api.destroy) &&
         take(lib, "nvrtcCompileProgram", api.compile) &&
         take(lib, "nvrtcGetProgramLogSize", api.log_size) &&
         take(lib, "nvrtcGetProgramLog", api.log) &&
         take(lib, "nvrtcGetCUBINSize", api.code_size) && take(lib, "nvrtcGetCUBIN", api.code);
}

Found search(int driver_version) {
  std::vector<std::string> names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  if (driver_version != 0 && driver_version < 13000) std::swap(names[0], names[1]);
  Found out;
  const SharedLibrary lib = open_library(names);
  if (!lib) {
    out.facts.why = lib.why;
    return out;
  }
  out.facts.name = lib.name;
  out.facts.file = lib.file();
  if (!take_all(lib, out.api) ||
      out.api.version(&out.facts.major, &out.facts.minor) != NVRTC_SUCCESS) {
    out.facts = {.name = lib.name, .file = {}, .why = lib.name + " is too old"};
    return out;
  }
  // NVRTC opens it by name when it first compiles.
  open_beside(lib, str("libnvrtc-builtins.so.", out.facts.version()));
  return out;
}

const Found& found(int driver_version) {
  static const Found once = search(driver_version);
  return once;
}

/// A program of NVRTC's, destroyed at the end.
struct Program {
  const NvrtcApi& api;
  nvrtcProgram handle = nullptr;
  ~Program() {
    if (handle != nullptr) api.destroy(&handle);
  }
};

void check_nvrtc(const NvrtcApi& api, nvrtcResult code, const char* what) {
  if (code != NVRTC_SUCCESS) {
    throw RunError(str("NVRTC cannot ", what, ": ", api.error_string(code)));
  }
}

/// It is what its version was kept of.
void check_found(const NvrtcFacts& facts, const std::string& version) {
  if (facts.version() == version) return;
  throw RunError(str("NVRTC ", version, " was there before, now there is ",
                     facts.major == 0 ? "none: " + facts.why : facts.version(),
                     ". Empty the cache's folder (`plait doctor` names it)"));
}

void check_architecture(const Found& nvrtc, const std::string& architecture) {
  int count = 0;
  check_nvrtc(nvrtc.api, nvrtc.api.architecture_count(&count), "count its architectures");
  std::vector<int> known(static_cast<std::size_t>(count));
  check_nvrtc(nvrtc.api, nvrtc.api.architectures(known.data()), "list its architectures");
  const int wanted = std::stoi(architecture.substr(3));
  if (std::find(known.begin(), known.end(), wanted) == known.end()) {
    fail("NVRTC ", nvrtc.facts.version(), " does not know this GPU's architecture (", architecture,
         "): install a newer CUDA toolkit");
  }
}

std::string log_of(const Program& program) {
  std::size_t bytes = 0;
  if (program.api.log_size(program.handle, &bytes) != NVRTC_SUCCESS || bytes < 2) return "";
  std::string log(bytes, '\0');
  if (program.api.log(program.handle, log.data()) != NVRTC_SUCCESS) return "";
  log.resize(bytes - 1);
  return log;
}

}  // namespace

std::string NvrtcFacts::version() const { return major == 0 ? "" : str(major, ".", minor); }

const NvrtcFacts& find_nvrtc(int driver_version) { return found(driver_version).facts; }

std::string architecture_name(int major, int minor) {
  return str("sm_", major, minor, major >= 9 ? "a" : "");
}

Nvrtc::Nvrtc(int driver_version, const std::string& architecture)
    : driver_version_(driver_version), architecture_(architecture) {
  version_ = kept_version(str("nvrtc for ", driver_version / 1000), [&]() -> LibraryVersion {
    const NvrtcFacts& facts = find_nvrtc(driver_version);
    return {facts.version(), facts.file};
  });
  if (version_.empty()) {
    const NvrtcFacts& facts = find_nvrtc(driver_version);
    fail("--backend cuda needs NVRTC, the CUDA toolkit's run-time compiler (libnvrtc.so.13 or .12)",
         facts.name.empty() ? "" : ", and " + facts.why,
         ": install it, or set CUDA_HOME to where it is");
  }
  identity_ = str("nvrtc ", version_, " ", architecture_);
  for (const char* flag : kFlags) identity_ += str(" ", flag);
}

Compiled Nvrtc::compile(const std::string& text) const {
  const Found& nvrtc = found(driver_version_);
  check_found(nvrtc.facts, version_);
  const NvrtcApi& api = nvrtc.api;
  check_architecture(nvrtc, architecture_);
  Program program{api};
  check_nvrtc(api, api.create(&program.handle, text.c_str(), "plait.cu", 0, nullptr, nullptr),
              "take a text");
  const std::string architecture = "--gpu-architecture=" + architecture_;
  std::vector<const char*> flags{architecture.c_str()};
  flags.insert(flags.end(), kFlags.begin(), kFlags.end());
  const nvrtcResult code =
      api.compile(program.handle, static_cast<int>(flags.size()), flags.data());
  Compiled out;
  out.log = log_of(program);
  if (code == NVRTC_ERROR_COMPILATION) {
    if (out.log.empty()) out.log = api.error_string(code);
    return out;
  }
  if (code != NVRTC_SUCCESS) {
    throw RunError(str("NVRTC ", version_, " fails: ", api.error_string(code),
                       out.log.empty() ? "" : "\n", out.log.substr(0, 1000)));
  }
  std::size_t bytes = 0;
  check_nvrtc(api, api.code_size(program.handle, &bytes), "give its code's size");
  out.code.resize(bytes);
  check_nvrtc(api, api.code(program.handle, out.code.data()), "give its code");
  return out;
}

}  // namespace plait::cuda
