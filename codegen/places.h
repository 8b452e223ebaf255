// The folders that one build can work in: the cache's, and where that cannot be written the usual
// ones for temporaries, so that a full disk costs the cache and not the run.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codegen/cache.h"

namespace plait::codegen {

struct Place {
  std::size_t number;
  std::string parent;             ///< the cache's folder, or /tmp, ..
  const cache::WorkFolder* work;  ///< in it
  std::string folder;             ///< its anchor
};

/// Shared by the threads of a build.
class Places {
 public:
  /// `cache` may be empty; `why_no_cache` then says why.
  Places(const std::string& cache, const std::string& why_no_cache);

  /// The first place that works. RunError with all the reasons when none does.
  Place current();

  /// Gives a place up for the rest of the build.
  void leave(const Place& place, const std::string& why);

  /// A place still works, but does not keep what was made there.
  void remember(const Place& place, const std::string& why);

  /// Why what was made could not be kept; empty when it could.
  std::string why_left();

 private:
  void add_reason(const std::string& parent, const std::string& why);

  struct Candidate {
    std::string parent;
    std::unique_ptr<cache::WorkFolder> folder;
  };

  std::mutex mutex_;
  std::size_t at_ = 0;
  std::vector<Candidate> candidates_;
  std::string why_left_;
};

}  // namespace plait::codegen
