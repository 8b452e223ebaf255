// The pool: every task once, short hand-offs, no run inside a run, an end at any moment.
#include "backends/cpu/pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>
#include <vector>

#include "tests/raises.h"

namespace plait::cpu {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TEST(Pool, EveryTaskOnceByAThreadInRange) {
  for (int threads : {1, 2, 3, 7}) {
    Pool pool(threads);
    ASSERT_EQ(pool.threads(), threads);
    for (std::int64_t tasks : {0, 1, 2, 5, 1000}) {
      std::vector<std::atomic<int>> times(static_cast<std::size_t>(tasks));
      std::atomic<int> strangers{0};
      pool.each(tasks, [&](std::int64_t task, int thread) {
        times[static_cast<std::size_t>(task)].fetch_add(1);
        if (thread < 0 || thread >= threads) strangers.fetch_add(1);
      });
      EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](const auto& n) { return n == 1; }))
          << threads << " threads, " << tasks << " tasks";
      EXPECT_EQ(strangers, 0);
    }
  }
}

TEST(Pool, ThreadNumbersAreOnesOwn) {
  Pool pool(3);
  std::vector<std::int64_t> scratch(3, 0);  // written without atomics: one thread each
  for (int round = 0; round < 200; ++round) {
    pool.each(50, [&](std::int64_t task, int thread) {
      scratch[static_cast<std::size_t>(thread)] += task;
    });
  }
  EXPECT_EQ(scratch[0] + scratch[1] + scratch[2], 200 * (50 * 49 / 2));
}

TEST(Pool, WritesAreSeenByTheNextRun) {
  Pool pool(2);
  std::vector<std::int64_t> values(64, 0);  // plain memory: the runs themselves must order it
  for (int round = 0; round < 20000; ++round) {
    pool.each(2, [&](std::int64_t half, int) {
      for (std::size_t i = 0; i < 32; ++i) {
        const std::size_t at = (static_cast<std::size_t>(half + round) % 2) * 32 + i;
        values[at] += 1;
      }
    });
  }
  for (std::int64_t value : values) ASSERT_EQ(value, 20000);
}

TEST(Pool, MoreThreadsThanCpus) {
  const int cpus = static_cast<int>(std::thread::hardware_concurrency());
  Pool pool(cpus * 4 + 1);
  std::atomic<std::int64_t> sum{0};
  for (int round = 0; round < 500; ++round) {
    pool.each(20, [&](std::int64_t task, int) { sum.fetch_add(task); });
  }
  EXPECT_EQ(sum, 500 * 190);
}

TEST(Pool, TwoThreadsWorkAtOnce) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one cpu";
  Pool pool(2);
  std::atomic<int> here{0};
  std::atomic<bool> met{true};
  pool.each(2, [&](std::int64_t, int) {
    here.fetch_add(1);
    const auto start = Clock::now();
    while (here.load() < 2) {
      if (seconds_since(start) > 20) {
        met = false;
        break;
      }
      std::this_thread::yield();
    }
  });
  EXPECT_TRUE(met) << "a second thread never came";
}

TEST(Pool, NeighboursGoToOneThreadAndTheSameOnesInEveryRun) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one cpu";
  Pool pool(2);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> started{0};
    std::vector<int> by(6, -1);
    const auto start = Clock::now();
    pool.each(6, [&](std::int64_t task, int thread) {
      by[static_cast<std::size_t>(task)] = thread;
      const int pair = started.fetch_add(1) / 2 + 1;  // two at a time: nobody is ahead
      while (started.load() < 2 * pair && seconds_since(start) < 20) std::this_thread::yield();
    });
    ASSERT_LT(seconds_since(start), 20) << "round " << round;
    ASSERT_EQ(by, (std::vector<int>{0, 0, 0, 1, 1, 1})) << "round " << round;
  }
}

TEST(Pool, AnIdleThreadTakesWhatAnotherHasLeft) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one cpu";
  Pool pool(2);
  std::atomic<int> done{0};
  const auto start = Clock::now();
  pool.each(8, [&](std::int64_t task, int) {
    if (task == 0) {  // the others, three of its own share among them, do not wait for it
      while (done.load() < 7 && seconds_since(start) < 20) std::this_thread::yield();
    }
    done.fetch_add(1);
  });
  EXPECT_LT(seconds_since(start), 20);
  EXPECT_EQ(done, 8);
}

TEST(Pool, WorkersWakeAfterASleep) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one cpu";
  Pool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 2 == 0 ? 1 : 0));
    std::atomic<int> here{0};
    const auto start = Clock::now();
    pool.each(2, [&](std::int64_t, int) {
      here.fetch_add(1);
      while (here.load() < 2 && seconds_since(start) < 20) std::this_thread::yield();
    });
    ASSERT_LT(seconds_since(start), 20) << "round " << round;
  }
}

TEST(Pool, RunInsideATaskIsABug) {
  for (int threads : {1, 2}) {
    Pool pool(threads);
    std::atomic<int> refused{0};
    pool.each(4, [&](std::int64_t, int) {
      try {
        pool.each(2, [](std::int64_t, int) {});
      } catch (const Bug&) {
        refused.fetch_add(1);
      }
    });
    EXPECT_EQ(refused, 4) << threads << " threads";
    int ran = 0;
    pool.each(1, [&](std::int64_t, int) { ++ran; });
    EXPECT_EQ(ran, 1) << "usable afterwards";
  }
}

TEST(Pool, EndsSpinningAsleepAndUnused) {
  for (int round = 0; round < 50; ++round) Pool pool(3);
  for (int pause_us : {0, 50, 100, 150, 2000}) {
    for (int round = 0; round < 20; ++round) {
      Pool pool(2);
      pool.each(2, [](std::int64_t, int) {});
      if (pause_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    }
  }
}

TEST(Pool, EndsWhereWorkersLoseTheCpuAnywhere) {  // a worker that misses the end hangs this test
  std::vector<std::thread> busy;
  for (int i = 0; i < 8; ++i) {
    busy.emplace_back([] {
      for (int round = 0; round < 5000; ++round) {
        Pool pool(2);
        for (int run = 0; run < round % 7; ++run) pool.each(2, [](std::int64_t, int) {});
      }
    });
  }
  for (std::thread& thread : busy) thread.join();
}

TEST(Pool, SleepingWorkersTakeNoTime) {
  Pool pool(std::max(2, static_cast<int>(std::thread::hardware_concurrency())));
  pool.each(8, [](std::int64_t, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::clock_t before = std::clock();  // of all threads of this process
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.1);
}

TEST(Pool, CallerIsPinnedOnlyWhenAsked) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t now;
  {
    Pool pool(1);
    ASSERT_EQ(::sched_getaffinity(0, sizeof now, &now), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &now));
  }
  std::thread([&] {  // a thread of its own: the pin stays
    Pool pool(1, true, true);
    ASSERT_EQ(::sched_getaffinity(0, sizeof now, &now), 0);
    EXPECT_EQ(CPU_COUNT(&now), 1);
    Pool later(1);
    EXPECT_EQ(default_threads(), CPU_COUNT(&before)) << "the mask is the process's, not this pin";
  })
      .join();
}

TEST(Pool, WorkersArePinned) {
  const int cpus = default_threads();
  if (cpus < 2) GTEST_SKIP() << "one cpu";
  for (bool pin : {true, false}) {
    Pool pool(2, pin);
    std::atomic<int> here{0};
    int mask_of_worker = 0;
    const auto start = Clock::now();
    pool.each(2, [&](std::int64_t, int thread) {
      here.fetch_add(1);
      while (here.load() < 2 && seconds_since(start) < 20) std::this_thread::yield();
      cpu_set_t mask;
      if (thread == 1 && ::sched_getaffinity(0, sizeof mask, &mask) == 0) {
        mask_of_worker = CPU_COUNT(&mask);
      }
    });
    EXPECT_EQ(mask_of_worker, pin ? 1 : cpus);
  }
}

TEST(Pool, DefaultThreads) {
  ::unsetenv("PLAIT_THREADS");
  EXPECT_GE(default_threads(), 1);
  ::setenv("PLAIT_THREADS", "3", 1);
  EXPECT_EQ(default_threads(), 3);
  for (const char* bad : {"0", "-1", "two", "3x", "99999999999999999999", "4097"}) {
    ::setenv("PLAIT_THREADS", bad, 1);
    EXPECT_EQ(
        test::message_of([] { default_threads(); }),
        std::string("PLAIT_THREADS is \"") + bad + "\": give a number of threads from 1 to 4096");
  }
  ::unsetenv("PLAIT_THREADS");
}

/// Microseconds from run() until a second thread is inside a task, and of a run of nothing.
TEST(Pool, HandOffTime) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one cpu";
  Pool pool(2);
  std::vector<double> meet;
  std::vector<double> empty;
  for (int round = 0; round < 5000; ++round) {
    std::atomic<int> here{0};
    auto start = Clock::now();
    pool.each(2, [&](std::int64_t, int) {
      here.fetch_add(1);
      while (here.load() < 2 && seconds_since(start) < 1) {
      }
    });
    meet.push_back(seconds_since(start) * 1e6);
    start = Clock::now();
    pool.each(2, [](std::int64_t, int) {});
    empty.push_back(seconds_since(start) * 1e6);
  }
  std::sort(meet.begin(), meet.end());
  std::sort(empty.begin(), empty.end());
  std::printf("hand-off: median %.2f us, 10%% %.2f, 90%% %.2f; empty run: median %.2f us\n",
              meet[2500], meet[500], meet[4500], empty[2500]);
  // The best of all rounds: a busy machine may keep the second thread from running in the others.
  EXPECT_LT(meet.front(), 100) << "spinning workers answer in microseconds";
}

}  // namespace
}  // namespace plait::cpu
