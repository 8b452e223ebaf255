// NVIDIA's run-time compiler: CUDA C++ text to code for one architecture. Found when the program
// runs; several texts may be compiled at the same time.
#pragma once

#include <string>

namespace plait::cuda {

/// What was found; empty version: nothing, and `why`.
struct NvrtcFacts {
  int major = 0, minor = 0;
  std::string name;  // libnvrtc.so.13
  std::string file;  // where it is
  std::string why;
  std::string version() const;  // `13.0`, empty when there is none
};

/// Loads NVRTC on first use: one that a driver of this CUDA version (13000; 0: any) can take code
/// from, where there are several.
const NvrtcFacts& find_nvrtc(int driver_version);

/// One text, compiled. Without code, `log` says why.
struct Compiled {
  std::string code;  // cubin
  std::string log;
};

/// A chip's architecture as the compiler is told it: 9, 0 -> `sm_90a`.
std::string architecture_name(int major, int minor);

/// Opened with the first text that is compiled.
class Nvrtc {
 public:
  /// UserError when there is no NVRTC.
  Nvrtc(int driver_version, const std::string& architecture);
  const std::string& version() const { return version_; }
  /// What decides the code besides the text.
  const std::string& identity() const { return identity_; }
  /// From any thread. UserError when NVRTC does not know the architecture, RunError for other
  /// trouble that is not the text's.
  Compiled compile(const std::string& text) const;

 private:
  int driver_version_;
  std::string version_, architecture_, identity_;
};

}  // namespace plait::cuda
