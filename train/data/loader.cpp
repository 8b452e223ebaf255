// Threads take the numbers of batches in order; next() hands them out in order.
#include "train/data/loader.h"

#include <utility>

#include "base/cpus.h"
#include "base/error.h"

namespace plait::train {

Loader::Loader(std::shared_ptr<const Source> source, Sampler sampler, LoaderOptions options)
    : source_(std::move(source)),
      feeds_(source_->feeds()),
      options_(options),
      sampler_(std::move(sampler)) {
  if (options_.batch < 1) fail("a batch of ", options_.batch, " samples; at least 1 is needed");
  if (options_.prefetch < 0) fail("prefetch of ", options_.prefetch, " batches; at least 0");
  if (options_.threads < 1) fail(options_.threads, " threads to read data; at least 1 is needed");
  if (options_.prefetch == 0) return;
  add_free_threads(threads_, static_cast<std::size_t>(options_.threads), [this] { work(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Position Loader::next(Batch& into) {
  std::unique_lock lock(mutex_);
  if (threads_.empty()) {
    // A failed batch fails again: its samples stay next.
    Sampler ahead = sampler_;
    read_batch(*source_, ahead, options_.batch, into);
    sampler_ = ahead;
    return sampler_.position();
  }
  changed_.wait(lock, [&] { return ready_.contains(taken_); });
  Ready& first = ready_.at(taken_);
  if (first.error) std::rethrow_exception(first.error);
  std::swap(into, first.batch);
  const Position after = first.after;
  spare_.push_back(std::move(first.batch));
  ready_.erase(taken_++);
  lock.unlock();
  changed_.notify_all();
  return after;
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || issued_ < taken_ + options_.prefetch; });
    if (ending_) return;
    const std::int64_t number = issued_++;
    Ready ready;
    try {
      const std::vector<std::int64_t> samples = draw_batch();
      ready.after = sampler_.position();
      ready.batch = spare_batch();
      lock.unlock();
      if (!read(samples, ready.batch)) return;
    } catch (...) {
      ready.error = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    ready_.emplace(number, std::move(ready));
    changed_.notify_all();
  }
}

bool Loader::read(const std::vector<std::int64_t>& samples, Batch& into) {
  const auto rows = static_cast<std::int64_t>(samples.size());
  into.shape(feeds_, rows);
  into.tokens = rows * source_->tokens();
  for (std::int64_t row = 0; row < rows; ++row) {
    if (ending()) return false;
    source_->read(samples[static_cast<std::size_t>(row)], row, into);
  }
  return true;
}

std::vector<std::int64_t> Loader::draw_batch() {
  std::vector<std::int64_t> samples(static_cast<std::size_t>(options_.batch));
  for (std::int64_t& sample : samples) sample = sampler_.next();
  return samples;
}

Batch Loader::spare_batch() {
  if (spare_.empty()) return {};
  Batch batch = std::move(spare_.back());
  spare_.pop_back();
  return batch;
}

bool Loader::ending() {
  const std::lock_guard lock(mutex_);
  return ending_;
}

}  // namespace plait::train
