// Texts to code: what the cache on disk has is taken from there, the rest is compiled by several
// threads at once and kept. It knows no driver: who loads the code says whether it is any good.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "backends/cuda/driver/nvrtc.h"

namespace plait::cuda {

struct BuildHooks {
  /// Takes the code of a text, on the calling thread; empty, or why it cannot be used: code from
  /// the cache is then made again, new code is a RunError.
  std::function<std::string(std::size_t text, const std::string& code)> load;
  /// May be empty. On the calling thread, after each text that had to be compiled.
  std::function<void(int done, int total, double seconds)> progress;
};

struct BuildResult {
  int from_cache = 0;
  double seconds = 0;
};

/// `texts` are distinct. A text that does not compile is a Bug that shows the compiler's first
/// lines and where the text is kept.
BuildResult build_code(const Nvrtc& nvrtc, const std::vector<const std::string*>& texts,
                       const BuildHooks& hooks);

}  // namespace plait::cuda
