// Counts memory that is asked for: every operator new of every thread, and how far the heap of the
// C library (malloc) has grown. Nothing is counted until the first window opens.
#pragma once

#include <cstdint>
#include <functional>

namespace plait::cli {

struct Allocated {
  std::int64_t calls = 0;  // of operator new, also of what was freed again
  std::int64_t bytes = 0;  // that the heap holds more than before
};

/// What `run` allocated.
Allocated allocated_during(const std::function<void()>& run);

}  // namespace plait::cli
