// What the placement strategies work on: time compressed to sections, the largest sets of buffers
// alive together. Two buffers conflict when they share a section. Private to plan/place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/place/place.h"

namespace plait::plan {

struct Problem {
  std::vector<std::int64_t> bytes;  // > 0
  std::vector<int> begin, end;      // alive in the sections begin..end-1
  int sections = 0;
  std::int64_t lower_bound = 0;

  int size() const { return static_cast<int>(bytes.size()); }
};

/// What may still be done. One unit takes about a nanosecond.
struct Work {
  std::int64_t left = 0;
  /// False when that much was not left any more.
  bool take(std::int64_t units) {
    left -= units;
    return left >= 0;
  }
};

/// The intervals `ids`, in that order.
Problem compress(const std::vector<Interval>& intervals, std::span<const int> ids);

/// Bytes alive in every section.
std::vector<std::int64_t> loads(const Problem& problem);

/// A problem that is placed on its own, above `base`; `ids` are positions in the whole problem.
struct Part {
  std::vector<int> ids;
  Problem problem;
  std::int64_t base = 0;
};

/// Cuts a problem where no buffer crosses, puts what lives through all of a piece to its bottom and
/// cuts the rest again: the best height of the whole is the largest of the parts' best heights plus
/// their bases. `offsets` receives the buffers placed on the way. Without work left, parts stay
/// whole.
std::vector<Part> decompose(const std::vector<Interval>& intervals, std::span<const int> ids,
                            std::vector<std::int64_t>& offsets, Work& work);

struct Packed {
  std::vector<std::int64_t> offsets;
  std::int64_t height = 0;
  std::string method;
  std::vector<int> order;  // the order in which the greedy strategy placed it
};

std::int64_t height_of(const Problem& problem, const std::vector<std::int64_t>& offsets);

}  // namespace plait::plan
