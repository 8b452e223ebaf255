// A program ready to be timed, with what it took from the start to the end of its first run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/args.h"
#include "cli/compiled.h"

namespace plait::cli {

struct Ready {
  Loaded loaded;
  double compile_seconds = 0;
  bool from_cache = false;
  double program_seconds = 0, first_run_seconds = 0;
  double seconds = 0;           // all of it
  std::int64_t free_bytes = 0;  // by the driver, behind the first run

  /// Seconds of each part; those of the target's are within the others, and in part at once.
  std::vector<std::pair<std::string, double>> parts() const;
};

/// FILE's program, loaded with stand-ins for its states and run once.
Ready make_ready(const Args& args, std::uint64_t seed);

/// `0.41 s with the first run: program 20 ms, ... (context 0.2 s, ...)`
std::string ready_text(const Ready& ready);

}  // namespace plait::cli
