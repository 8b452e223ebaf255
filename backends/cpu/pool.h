// The threads of the CPU backend: one parallel loop at a time, with a hand-off short enough for
// steps of a few microseconds. What a task computes must not depend on the thread that runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace plait::cpu {

/// A task: `task` in [0, tasks), `thread` in [0, threads) for scratch memory of its own.
using TaskFunction = void (*)(void* context, std::int64_t task, int thread) noexcept;

class Pool {
 public:
  /// The thread that calls run() is thread 0; `threads - 1` workers are started. With `pin`, worker
  /// i stays on the i-th cpu of the process's affinity mask, and this thread on the first one if
  /// `pin_caller`. With more threads than cpus nothing is pinned and nothing spins.
  explicit Pool(int threads, bool pin = true, bool pin_caller = false);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return threads_; }

  /// Runs all tasks and returns when all are done. Each thread begins with its own share, thread 0
  /// with the first, and then helps the others: in no particular order. With one thread or one task
  /// it runs them here, in order. Allocates nothing. One run at a time: from inside a task, or
  /// from a second thread while one is active, it is a Bug.
  void run(std::int64_t tasks, TaskFunction function, void* context);

  /// The same for anything callable as body(task, thread) that does not throw (if it does, the
  /// program ends).
  template <class Body>
  void each(std::int64_t tasks, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run(
        tasks,
        [](void* context, std::int64_t task, int thread) noexcept {
          (*static_cast<Plain*>(context))(task, thread);
        },
        const_cast<std::remove_const_t<Plain>*>(&body));
  }

 private:
  struct Shared;
  int threads_;
  std::unique_ptr<Shared> shared_;
};

/// $PLAIT_THREADS (1 to kMostThreads; UserError otherwise), or the number of cpus in the affinity
/// mask.
int default_threads();

}  // namespace plait::cpu
