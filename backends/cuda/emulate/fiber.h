// Another stack for the same thread: what emulated threads change places with. Knows nothing of
// them.
#pragma once

#include <cstddef>

namespace plait::cuda {

/// A context that begins with entry(argument), which never returns, on this stack.
void* make_fiber(char* stack, long bytes, void (*entry)(void*), void* argument);

/// Leaves the running context, which goes to *from, for `to`.
void swap_fibers(void** from, void* to);

/// Stacks one above the other, each with a page below that nobody may touch.
class Stacks {
 public:
  /// RunError when there is no room.
  Stacks(int count, long bytes);
  ~Stacks();
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace plait::cuda
