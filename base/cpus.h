// The cpus that this process may use, on which of them a thread runs, how many threads it may be
// asked for, and what needs the system's leave there.
#pragma once

#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace plait {

/// What --threads, train.threads and PLAIT_THREADS may ask for.
constexpr int kMostThreads = 4096;

/// The mask that the process started with: asked once. Who pins a thread asks before.
const std::vector<int>& process_cpus();

/// Keeps this thread on these cpus. One that has gone since is no reason to stop: the thread then
/// runs where it may. A thread begins where its maker is kept, and so does a program it starts.
void stay_on(const std::vector<int>& cpus);

/// Whether the processor has AMX's tiles and their bf16 products, and the system lets this process
/// use them: asked once.
bool may_use_amx();

/// A thread that runs `work` on all cpus of the process, wherever its maker is kept.
template <class Work>
std::thread free_thread(Work work) {
  return std::thread([work = std::move(work)]() mutable {
    stay_on(process_cpus());
    work();
  });
}

/// Adds up to `count` such threads, each of which runs `work`; fewer where the system has no more
/// to give, which is no failure: whoever shares work among threads does with those there are.
template <class Work>
void add_free_threads(std::vector<std::thread>& threads, std::size_t count, Work work) {
  threads.reserve(threads.size() + count);
  try {
    for (std::size_t i = 0; i < count; ++i) threads.push_back(free_thread(work));
  } catch (const std::system_error&) {
  }
}

}  // namespace plait
