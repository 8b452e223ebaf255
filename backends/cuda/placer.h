// Arrays into their layouts on the device: they travel as they are, and a kernel moves each element
// to its place.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/cuda/device.h"
#include "backends/runtime.h"

namespace plait::cuda {

class Placer {
 public:
  explicit Placer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  ~Placer();
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;

  /// Whether a kernel is there for it.
  static bool takes(const HostLayout& layout);

  /// From an array on the device.
  void place(char* to, const char* from, const HostLayout& layout);
  /// From the host, through a piece of memory that is taken with the first call and kept.
  void write(char* to, const void* from, const HostLayout& layout);
  std::int64_t held_bytes() const { return through_ ? kThroughBytes : 0; }

 private:
  static constexpr std::int64_t kThroughBytes = std::int64_t{4} << 20;
  /// The elements of the array from `first` on, so many, are at `from`.
  void launch(char* to, const char* from, std::int64_t first, std::int64_t count,
              const HostLayout& layout);

  std::shared_ptr<Device> device_;
  std::shared_ptr<Module> module_;  // of the first call
  char* through_ = nullptr;
};

}  // namespace plait::cuda
