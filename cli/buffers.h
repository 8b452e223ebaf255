// The buffers of a program over the steps as they run: when each is needed, and what it holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/program.h"

namespace plait::cli {

struct BufferLife {
  int first = 0, last = 0;  // steps
  bool fed = false, fetched = false;
  const plan::Held* held = nullptr;  // the first value in it
};

/// One per buffer. What is fed begins at 0, what is fetched ends with the last step; states and
/// constants last throughout.
std::vector<BufferLife> buffer_lives(const plan::Program& program);

/// Where the arena is fullest: buffers alive there, largest first.
struct Peak {
  int step = 0;
  std::int64_t bytes = 0;
  std::vector<int> buffers;
};
Peak arena_peak(const plan::Program& program, const std::vector<BufferLife>& lives);

/// Different kernel ids of a program.
int kernel_count(const plan::Program& program);

}  // namespace plait::cli
