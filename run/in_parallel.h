// Work on many things at once, on as many threads as there are cpus.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/cpus.h"

namespace plait {

/// Calls work(i) for every i below `count`, from several threads. What one of them raises is raised
/// here, and the rest is left out.
template <class Work>
void in_parallel(std::size_t count, Work work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr trouble;
  std::mutex mutex;
  const auto take = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!trouble) trouble = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> threads;
  const std::size_t most = std::min<std::size_t>(process_cpus().size(), 16);
  if (count > 1) add_free_threads(threads, std::min(most, count) - 1, take);
  take();
  for (std::thread& thread : threads) thread.join();
  if (trouble) std::rethrow_exception(trouble);
}

}  // namespace plait
