// A program's steps timed: runs with a clock round every step beside runs without, and what a
// profile needs to know of a program.
#pragma once

#include "cli/compiled.h"
#include "profile/profile.h"

namespace plait::cli {

struct ProfileRequest {
  std::int64_t runs = 0;  // 0: as many as fit into `seconds`
  double seconds = 2;
};

/// Warms up, then runs each way in turn. `overhead_percent` is the median of the pairs' ratios less
/// one; below zero where noise is larger than it. Steps that a device's clock timed are
/// as within one launch: what the clock adds is taken off.
profile::Profile profiled(Loaded& loaded, const ProfileRequest& request);

/// What a step is called in MegEngine's words.
std::string type_of(const program::Step& step);

}  // namespace plait::cli
