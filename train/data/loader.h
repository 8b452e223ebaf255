// Batches ahead of need: threads read the next ones while the caller computes. Which batch comes
// when depends on the sampler alone, never on threads, depth or timing.
#pragma once

#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "train/data/sampler.h"

namespace plait::train {

struct LoaderOptions {
  std::int64_t batch = 1;
  int prefetch = 2;  // batches ready or being read; 0: read in next() itself
  int threads = 1;
};

class Loader {
 public:
  /// Starts at the sampler's position.
  Loader(std::shared_ptr<const Source> source, Sampler sampler, LoaderOptions options);
  /// Waits for the samples being read at that moment, no longer.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Swaps the next batch into `into`, whose arrays are filled again later, and says the position
  /// behind it: what a checkpoint taken now stores. An error of the batch comes out here, after all
  /// batches before it, and again at every later call.
  Position next(Batch& into);

 private:
  struct Ready {
    Batch batch;
    Position after;
    std::exception_ptr error;
  };

  void work();
  /// The samples of a batch into the batch; false when the loader is ending.
  bool read(const std::vector<std::int64_t>& samples, Batch& into);
  std::vector<std::int64_t> draw_batch();
  Batch spare_batch();
  bool ending();

  const std::shared_ptr<const Source> source_;
  const std::vector<FeedType> feeds_;
  const LoaderOptions options_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Sampler sampler_;
  std::int64_t issued_ = 0, taken_ = 0;  // batches given to threads, and to the caller
  std::map<std::int64_t, Ready> ready_;  // by number
  std::vector<Batch> spare_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace plait::train
