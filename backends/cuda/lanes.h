// Which steps of a run go beside each other. Steps keep their order on a lane; across lanes a step
// waits for those that it meets in memory, and for no others.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backends/runtime.h"

namespace plait::cuda {

inline constexpr int kLanes = 2;
/// $PLAIT_CUDA_LANES, where it is set.
std::optional<int> lanes_asked();

/// What a step touches: addresses, each from the first byte to behind the last.
struct Touched {
  using Range = std::pair<std::uintptr_t, std::uintptr_t>;
  std::vector<Range> reads, writes;
  bool first_only = false;  // its workspace is on the first lane
  double seconds = 0;       // about
};

std::vector<Touched> touched_by(const program::Program& program, const DimBindings& sizes,
                                const Memory& memory);

struct LaneStep {
  int lane = 0;
  std::vector<std::size_t> awaits;  // steps of other lanes, before it begins
  bool awaited = false;             // by one of another lane
};

/// A step goes where it can begin first, by the guessed times; each lane is taken for a device of
/// its own.
std::vector<LaneStep> lay_on_lanes(const std::vector<Touched>& steps, int lanes);

}  // namespace plait::cuda
