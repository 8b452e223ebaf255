// How much memory a call takes at once, beyond what the process had before.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace plait::test {

/// VmRSS or VmHWM of this process, in bytes.
inline std::int64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

template <class Call>
std::int64_t peak_bytes_during(Call call) {
  std::ofstream("/proc/self/clear_refs") << 5;  // the highest so far is the present
  const std::int64_t before = status_bytes("VmRSS");
  call();
  return status_bytes("VmHWM") - before;
}

}  // namespace plait::test
