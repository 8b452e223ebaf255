// Reserving slots, feeding one, moving it into place.
#include "backends/cuda/feed_staging.h"

#include "backends/cuda/code.h"

namespace plait::cuda {
namespace {

// Less than this in all is copied sooner than two streams agree.
constexpr std::int64_t kLeastBytes = 64 << 10;

}  // namespace

void FeedStaging::reserve(const program::Program& program, const Memory& memory) {
  underway_.clear();
  places_.clear();
  std::int64_t bytes = 0;
  for (const program::Binding& feed : program.feeds) {
    places_[feed.view] = {memory.at(program, feed.view), bytes};
    bytes += rounded(program.buffer_of(feed.view).bytes);
  }
  if (bytes < kLeastBytes) {
    places_.clear();
    return;
  }
  if (bytes == slot_bytes_) return;
  device_->release(data_);
  data_ = nullptr;
  data_ = device_->allocate(2 * bytes, "feeds of two runs");
  slot_bytes_ = bytes;
}

bool FeedStaging::feed(program::ViewId view, const void* from, const HostLayout& layout) {
  const auto place = places_.find(view);
  if (place == places_.end() || (!layout.plain() && !Placer::takes(layout))) return false;
  device_->feed(slot_, slot(place->second), from, layout.bytes());
  underway_[view] = layout;
  return true;
}

void FeedStaging::take_over() {
  if (underway_.empty()) return;
  device_->take_feeds(slot_);
  for (const auto& [view, layout] : underway_) {
    const Place& place = places_.at(view);
    if (layout.plain()) {
      device_->copy(place.buffer, slot(place), layout.bytes());
    } else {
      placer_->place(place.buffer, slot(place), layout);
    }
  }
  device_->feeds_taken(slot_);
  underway_.clear();
  slot_ = 1 - slot_;
}

}  // namespace plait::cuda
