// The buffers of a program over the steps as they run: when each is needed, and what it holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"

namespace plait::cli {

struct BufferLife {
  int first = 0, last = 0;  // steps
  bool fed = false, fetched = false;
  const program::View* view = nullptr;  // the first value in it
};

/// One per buffer. What is fed begins at 0, what is fetched ends with the last step; states and
/// constants last throughout.
std::vector<BufferLife> buffer_lives(const program::Program& program);

/// Where the arena is fullest: buffers alive there, largest first.
struct Peak {
  int step = 0;
  std::int64_t bytes = 0;
  std::vector<int> buffers;
};
Peak arena_peak(const program::Program& program);

/// Where values lie, each buffer once, in the order of the views.
std::vector<int> buffers_of(const program::Program& program,
                            const std::vector<program::ViewId>& views);

/// Different kernel ids of a program.
int kernel_count(const program::Program& program);

}  // namespace plait::cli
