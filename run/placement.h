// Where a program's buffers lie in its regions: as planned, or, for tests, spread out between pages
// that nobody may touch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/runtime.h"
#include "program/program.h"

namespace plait {

/// A mode for tests, from PLAIT_FENCE. Every mode but kNone writes NaN patterns, before each run,
/// over all memory that no feed, state, constant or packed weight holds, so that what a program
/// leaves unwritten shows. kLow and kHigh also give every buffer pages of its own between protected
/// ones (host memory only): in kLow a buffer begins where its pages begin, in kHigh its last
/// element ends where they end. Such a program takes more memory than was planned.
enum class FenceMode { kNone, kFill, kLow, kHigh };

/// PLAIT_FENCE is unset, `fill`, `low` or `high`; UserError for anything else.
FenceMode fence_mode();

struct ByteRange {
  std::int64_t begin = 0, end = 0;
};

/// One region: its size, what is protected there and what is filled before each run.
struct PlacedRegion {
  std::int64_t bytes = 0;
  std::vector<ByteRange> fences, filled;
};

/// Workspace and arena lie behind each other in one piece of memory, `work`, which programs use in
/// turns.
struct Placement {
  std::vector<std::int64_t> offsets;  // of the buffers: in states, constants or work
  PlacedRegion states, constants, work;
  std::int64_t arena = 0;  // where it begins
  // Parts of the workspace, and how far apart those of neighbouring streams and threads begin.
  std::int64_t shared = 0, side = 0, threads = 0, persistent = 0;
  std::int64_t side_bytes = 0, thread_bytes = 0;
};

Placement placement_of(const program::Program& program, FenceMode mode);

/// RunError when the space is not the host's, or the system has no room for the fences.
void protect_fences(const Space& space, const PlacedRegion& region);
/// Writes NaN patterns over what is to be filled.
void fill_region(Space& space, const PlacedRegion& region);

}  // namespace plait
