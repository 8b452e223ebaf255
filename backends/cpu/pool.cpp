// How the threads meet. A run is open while the caller still hands out tasks; workers join an open
// run and leave it, and the caller waits only for those that joined: a worker that the system does
// not schedule costs nothing. `gate` holds the whole state: epoch, open, joined.
#include "backends/cpu/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "backends/cpu/cut.h"
#include "base/cpus.h"
#include "base/error.h"

namespace plait::cpu {
namespace {

constexpr std::uint64_t kOpen = 1ull << 31;
constexpr std::uint64_t kEpoch = 1ull << 32;
constexpr std::uint64_t kJoined = kOpen - 1;
constexpr auto kSpin = std::chrono::microseconds(100);
constexpr std::size_t kLine = 64;

std::uint32_t epoch_of(std::uint64_t gate) { return static_cast<std::uint32_t>(gate >> 32); }

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t while_it_is) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, while_it_is, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int threads) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until ready() or until the time is over; what ready() said last.
template <class Ready>
bool spin(std::chrono::nanoseconds time, Ready ready) {
  if (ready()) return true;
  if (time.count() == 0) return false;
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    for (int i = 0; i < 32; ++i) {
      pause();
      if (ready()) return true;
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// Tasks [next, last): neighbours go to one thread, and the same part of every step to the same
/// thread, whose caches have what it wrote there in the step before.
struct alignas(kLine) Share {
  std::atomic<std::int64_t> next{0};
  std::int64_t last = 0;
};

}  // namespace

struct Pool::Shared {
  alignas(kLine) std::atomic<std::uint64_t> gate{0};
  TaskFunction function = nullptr;  // these three are read by joined workers only
  void* context = nullptr;
  std::vector<Share> shares;  // one per thread
  alignas(kLine) std::atomic<std::uint32_t> sleepers{0};
  std::atomic<std::uint32_t> bell{0};           // workers sleep on it
  std::atomic<std::uint32_t> caller_sleeps{0};  // the caller sleeps on it
  std::atomic<bool> busy{false};
  std::atomic<bool> stop{false};
  std::chrono::nanoseconds spin_time{0};
  std::vector<std::thread> workers;

  void cut(std::int64_t tasks) {
    const std::int64_t threads = static_cast<std::int64_t>(shares.size());
    std::int64_t thread = 0, first = 0;
    for (Share& share : shares) {
      share.next.store(first, std::memory_order_relaxed);
      share.last = first = first_row(++thread, threads, tasks);
    }
  }

  /// Its own share first, then what the others have left of theirs.
  void take_tasks(int thread) {
    const TaskFunction f = function;
    void* const with = context;
    const std::size_t threads = shares.size();
    for (std::size_t i = 0; i < threads; ++i) {
      Share& share = shares[(static_cast<std::size_t>(thread) + i) % threads];
      const std::int64_t last = share.last;
      while (share.next.load(std::memory_order_relaxed) < last) {
        const std::int64_t task = share.next.fetch_add(1, std::memory_order_relaxed);
        if (task < last) f(with, task, thread);
      }
    }
  }

  /// Returns once the epoch differs from `seen`.
  void await_news(std::uint32_t seen) {
    const auto news = [&] { return epoch_of(gate.load()) != seen; };
    if (spin(spin_time, news)) return;
    sleepers.fetch_add(1);
    while (true) {
      const std::uint32_t heard = bell.load();
      if (news()) break;
      futex_wait(bell, heard);
    }
    sleepers.fetch_sub(1);
  }

  void leave() {
    const std::uint64_t left = gate.fetch_sub(1) - 1;
    if ((left & (kOpen | kJoined)) != 0) return;
    if (caller_sleeps.load() != 0 && caller_sleeps.exchange(0) != 0) futex_wake(caller_sleeps, 1);
  }

  void work(int thread, int cpu) {
    if (cpu >= 0) stay_on({cpu});
    ::pthread_setname_np(::pthread_self(), str("plait-", thread).c_str());
    std::uint32_t seen = 0;
    while (true) {
      await_news(seen);
      const std::uint64_t joined = gate.fetch_add(1);
      seen = epoch_of(joined);
      if ((joined & kOpen) != 0) take_tasks(thread);
      leave();
      if (stop.load()) return;  // after the epoch was read: the end's own epoch may be this one
    }
  }

  void announce(std::uint64_t change, std::int64_t wanted) {
    gate.fetch_add(change);  // before sleepers is read; a worker counts itself before it looks here
    if (sleepers.load() == 0) return;
    bell.fetch_add(1);
    futex_wake(bell, static_cast<int>(std::min<std::int64_t>(wanted, INT_MAX)));
  }

  void await_workers() {
    const auto left = [&] { return (gate.load() & kJoined) == 0; };
    if (spin(spin_time, left)) return;
    while (true) {
      caller_sleeps.store(1);
      if (left()) break;
      futex_wait(caller_sleeps, 1);
    }
    caller_sleeps.store(0);
  }

  void end_workers() {
    stop.store(true);
    announce(kEpoch, INT_MAX);
    for (std::thread& worker : workers) worker.join();
  }
};

Pool::Pool(int threads, bool pin, bool pin_caller)
    : threads_(threads), shared_(std::make_unique<Shared>()) {
  check(threads >= 1 && threads <= kMostThreads, "a pool of ", threads, " threads");
  shared_->shares = std::vector<Share>(static_cast<std::size_t>(threads));
  const std::vector<int>& cpus = process_cpus();
  const bool fits = threads <= static_cast<int>(cpus.size());
  if (fits) shared_->spin_time = kSpin;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all,
                    &before);  // signals are the caller's: workers inherit the mask
  std::string failed;
  try {
    for (int i = 1; i < threads; ++i) {
      const int cpu = pin && fits ? cpus[static_cast<std::size_t>(i)] : -1;
      shared_->workers.emplace_back([shared = shared_.get(), i, cpu] { shared->work(i, cpu); });
    }
  } catch (const std::system_error& e) {
    failed = e.what();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!failed.empty()) {
    const std::size_t started = shared_->workers.size() + 1;
    shared_->end_workers();
    throw RunError(str("only ", started, " of ", threads, " threads could be started: ", failed,
                       ". Ask for fewer (--threads, PLAIT_THREADS), or let this user have more ",
                       "(ulimit -u)"));
  }
  if (pin_caller && fits) stay_on({cpus[0]});
}

Pool::~Pool() { shared_->end_workers(); }

void Pool::run(std::int64_t tasks, TaskFunction function, void* context) {
  Shared& shared = *shared_;
  check(!shared.busy.exchange(true, std::memory_order_acquire),
        "Pool::run inside a task or from two threads at once");
  if (threads_ == 1 || tasks <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task) function(context, task, 0);
  } else {
    shared.function = function;
    shared.context = context;
    shared.cut(tasks);
    shared.announce(kEpoch + kOpen, tasks - 1);
    shared.take_tasks(0);
    shared.gate.fetch_sub(kOpen);
    shared.await_workers();
  }
  shared.busy.store(false, std::memory_order_release);
}

int default_threads() {
  const char* text = std::getenv("PLAIT_THREADS");
  if (text == nullptr || *text == '\0') {
    return std::min(static_cast<int>(process_cpus().size()), kMostThreads);
  }
  char* end = nullptr;
  const long threads = std::strtol(text, &end, 10);
  if (*end != '\0' || threads < 1 || threads > kMostThreads) {
    fail("PLAIT_THREADS is \"", text, "\": give a number of threads from 1 to ", kMostThreads);
  }
  return static_cast<int>(threads);
}

}  // namespace plait::cpu
