// What the tests of the compiler share: a cache of their own, small sources, a second process.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/cache.h"
#include "codegen/compile.h"
#include "tests/temporary.h"

namespace plait::codegen {

/// Each case has an empty cache, whose folder does not exist yet.
class CompileCase : public testing::Test {
 protected:
  CompileCase() : cache_(temporary_ / "below/cache") {
    ::setenv("PLAIT_CACHE", cache_.c_str(), 1);
    ::unsetenv("CC");
  }
  ~CompileCase() override { ::unsetenv("PLAIT_CACHE"); }

  /// The paths of the cache's files that end like this.
  std::vector<std::string> entries(const std::string& suffix = ".so") const {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(cache_, error)) {
      if (entry.path().string().ends_with(suffix)) paths.push_back(entry.path().string());
    }
    return paths;
  }

  test::TemporaryFolder temporary_;
  std::string cache_;
};

/// A translation unit whose f(x) is x + value.
inline std::string adds(int value) { return str("int f(int x) { return x + ", value, "; }\n"); }

inline int call(const Library& library, int x) {
  return reinterpret_cast<int (*)(int)>(library.symbol("f"))(x);
}

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// A new file in the place of what was there.
inline void write_text(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// Starts `body` in a process of its own; its exit status is what body returns, 99 if it raises.
inline pid_t start_process(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child != 0) return child;
  int status = 99;
  try {
    status = body();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "in the child: %s\n", e.what());
  }
  std::fflush(nullptr);
  ::_exit(status);
}

inline int status_of(pid_t child) {
  int ended = 0;
  if (::waitpid(child, &ended, 0) != child) return -1;
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

}  // namespace plait::codegen
