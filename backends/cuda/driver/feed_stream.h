// A stream beside the one that computes, for feeds of the next run: two slots of memory, each
// written while the other is read.
#pragma once

#include <array>
#include <cstdint>

#include "backends/cuda/driver/api.h"
#include "backends/cuda/driver/staging.h"

namespace plait::cuda {

class FeedStream {
 public:
  /// Needs a current context. RunError when something cannot be had.
  explicit FeedStream(const DriverApi& api);
  ~FeedStream();
  FeedStream(const FeedStream&) = delete;
  FeedStream& operator=(const FeedStream&) = delete;

  /// Behind the slot's last taken(); `from` may be changed on return.
  CUresult write(int slot, CUdeviceptr to, const char* from, std::int64_t bytes);
  /// `reader` goes on when the slot is written.
  CUresult take(int slot, CUstream reader);
  /// `reader` has read the slot when it comes here.
  CUresult taken(int slot, CUstream reader);

 private:
  struct Slot {
    CUevent written = nullptr, read = nullptr;
  };
  Slot& at(int slot) { return slots_.at(static_cast<std::size_t>(slot)); }

  const DriverApi& api_;
  Staging staging_;
  CUstream stream_ = nullptr;
  std::array<Slot, 2> slots_;
};

}  // namespace plait::cuda
