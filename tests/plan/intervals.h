// Intervals for the tests of placing: random ones, perfect packings and a trace like training's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "plan/place/place.h"

namespace plait::plan {

inline std::int64_t draw(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

inline std::vector<Interval> random_intervals(std::mt19937& random, int count, int steps,
                                              int longest, int largest) {
  std::vector<Interval> intervals;
  for (int i = 0; i < count; ++i) {
    const std::int64_t first = draw(random, 0, steps - 1);
    intervals.push_back(
        {64 * draw(random, 0, largest), first, first + draw(random, 0, longest - 1)});
  }
  return intervals;
}

/// Every step is full with `units` times 64 bytes. With `whole`, every interval fits into a gap
/// that the ones before it leave, so the best height is just that; else only the sums are right.
inline std::vector<Interval> full_steps(std::mt19937& random, int steps, int units, int largest,
                                        int longest, bool whole) {
  std::vector<Interval> intervals;
  std::vector<std::int64_t> free_from(units, 0);  // per unit: the step from which it is free
  for (std::int64_t step = 0; step < steps; ++step) {
    if (!whole) std::sort(free_from.begin(), free_from.end());
    for (int low = 0; low < units; ++low) {
      if (free_from[low] > step) continue;
      int high = low + 1;
      const std::int64_t wanted = low + draw(random, 1, largest);
      while (high < units && high < wanted && free_from[high] <= step) ++high;
      const std::int64_t end = std::min<std::int64_t>(steps, step + draw(random, 1, longest));
      std::fill(free_from.begin() + low, free_from.begin() + high, end);
      intervals.push_back({64 * (high - low), step, end - 1});
    }
  }
  return intervals;
}

/// Six buffers a layer: a value kept for its mirrored backward step, a mask kept nearly as long, a
/// passing value, a gradient, a workspace, a weight's gradient that may live to the end.
inline std::vector<Interval> training_trace(std::mt19937& random, int layers) {
  std::vector<Interval> intervals;
  const std::int64_t end = 2 * layers;
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::int64_t back = end - 1 - i, bytes = 64 << draw(random, 4, 16);
    intervals.push_back({bytes, i, back});
    intervals.push_back({64 * draw(random, 1, 3000), i, std::max(i, back - draw(random, 0, 9))});
    intervals.push_back({64 * draw(random, 1, 9000), i, std::min(end, i + draw(random, 0, 3))});
    intervals.push_back({bytes, back, std::min(end, back + 1)});
    intervals.push_back({64 * draw(random, 1, 9000), back, back});
    intervals.push_back({64 * draw(random, 1, 20000), back, random() % 3 == 0 ? end : back + 1});
  }
  return intervals;
}

}  // namespace plait::plan
