// The cpus that this process may use, on which of them a thread runs, and what needs the system's
// leave there.
#pragma once

#include <thread>
#include <utility>
#include <vector>

namespace plait {

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

}  // namespace plait
