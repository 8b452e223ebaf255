// Where threads run: a thread that was made by a pinned one is freed.
#include "base/cpus.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace plait {
namespace {

std::vector<int> here() {
  cpu_set_t set;
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

TEST(Cpus, AThreadIsWhereItsMakerIsUntilItIsFreed) {
  const std::vector<int> all = process_cpus();
  EXPECT_EQ(all, here());
  std::thread([&] {
    stay_on({all.back()});
    EXPECT_EQ(here(), std::vector<int>{all.back()});
    EXPECT_EQ(process_cpus(), all);
    std::thread([&] { EXPECT_EQ(here().size(), 1u); }).join();
    free_thread([&] { EXPECT_EQ(here(), all); }).join();
  }).join();
}

}  // namespace
}  // namespace plait
