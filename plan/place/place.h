// Offsets of buffers with known lifetimes in one arena. The answer depends on the intervals and the
// options alone: the search is cut off by counted work, never by a clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plait::plan {

/// A buffer alive in the steps first..last, both included. `bytes` is already rounded up to the
/// alignment of the arena; a buffer of zero bytes takes no room and gets offset 0.
struct Interval {
  std::int64_t bytes = 0;
  std::int64_t first = 0, last = 0;
};

struct Placement {
  std::vector<std::int64_t> offsets;  // one per interval
  std::int64_t height = 0;            // the bytes of the arena
  std::int64_t lower_bound = 0;       // no placement is lower than this
  std::string method;                 // the strategy that won: "greedy size", "search area", ...
};

struct PlaceOptions {
  double seconds = 0.05;      // nominal time after the greedy portfolio; 0: greedy alone
  std::int64_t capacity = 0;  // stop as soon as the height is no more than this
};

/// Greedy orders first; then, where they miss the lower bound, a branch and bound search from the
/// lower bound upwards, and local improvement. Bug on negative bytes or a lifetime that ends before
/// it begins.
Placement place(const std::vector<Interval>& intervals, const PlaceOptions& options = {});

/// The largest sum of bytes alive in one step.
std::int64_t lower_bound(const std::vector<Interval>& intervals);

/// Raises Bug when two intervals that live at the same time share bytes, when one leaves the arena,
/// or when the height is not the top of the highest.
void verify(const std::vector<Interval>& intervals, const Placement& placement);

}  // namespace plait::plan
