// How a flattened index walks through one operand: its axes with those merged whose steps chain,
// and a range of it as points (one per index) or as segments (runs along the innermost axis).
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/contract/kernels.h"
#include "backends/cpu/contract/problem.h"

namespace plait::cpu {

/// The image coordinates move by (h, w) after each `every` steps.
struct WalkAxis {
  std::int64_t extent = 1, step = 0;
  std::int32_t every = 1, h = 0, w = 0;
};

struct Walk {
  std::vector<WalkAxis> axes;  // outermost first, at least one
  std::int64_t extent = 1;     // of all of them

  const WalkAxis& inner() const { return axes.back(); }
  bool single() const { return axes.size() == 1; }
  std::int64_t offset(std::int64_t index) const;
};

enum class Operand { kA, kB, kC };

/// The way of `axes` through one operand; the image coordinates only where it is guarded.
Walk walk(const std::vector<Axis>& axes, Operand operand, bool guarded);

/// One point per index of [first, first + count), all moved by `base`.
void points(const Walk& walk, std::int64_t first, std::int64_t count, const Point& base,
            Point* out);

/// The segments of [first, first + count), returned is their number (at most count). Position i of
/// the range goes to dest i, or with panel > 0 to i / panel * panel_step + i % panel, and no
/// segment crosses the end of a panel.
std::int64_t segments(const Walk& walk, std::int64_t first, std::int64_t count, std::int64_t panel,
                      std::int64_t panel_step, Segment* out);

}  // namespace plait::cpu
