// Where feeds land while a run goes on: two slots, written in turns beside the run; the next run
// begins by moving them into their buffers. Feeds that are small in all go there directly.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "backends/cuda/device.h"
#include "backends/cuda/placer.h"
#include "backends/runtime.h"

namespace plait::cuda {

class FeedStaging {
 public:
  FeedStaging(std::shared_ptr<Device> device, std::shared_ptr<Placer> placer)
      : device_(std::move(device)), placer_(std::move(placer)) {}
  ~FeedStaging() { device_->release(data_); }
  FeedStaging(const FeedStaging&) = delete;
  FeedStaging& operator=(const FeedStaging&) = delete;

  /// Memory for what is fed. What has not landed is dropped.
  void reserve(const program::Program& program, const Memory& memory);
  /// False: it is small, or no feed.
  bool feed(program::ViewId view, const void* from, const HostLayout& layout);
  /// Before a run: all that was fed since the last one is in its buffers.
  void take_over();

  std::int64_t held_bytes() const { return 2 * slot_bytes_ + placer_->held_bytes(); }

 private:
  struct Place {
    char* buffer;
    std::int64_t offset;  // in a slot
  };
  char* slot(const Place& place) const { return data_ + slot_ * slot_bytes_ + place.offset; }

  std::shared_ptr<Device> device_;
  std::shared_ptr<Placer> placer_;
  std::map<program::ViewId, Place> places_;
  std::map<program::ViewId, HostLayout> underway_;  // fed for the next run
  char* data_ = nullptr;
  std::int64_t slot_bytes_ = 0;
  int slot_ = 0;  // that the next run takes
};

}  // namespace plait::cuda
