// Owners of cuDNN's descriptors. Whatever cuDNN refuses is a RunError in its own words, which the
// maker of a call turns into a reason.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "backends/cuda/library/loaded.h"

namespace plait::cuda {

class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const DnnApi& api, cudnnBackendDescriptorType_t kind);
  Descriptor(Descriptor&& other) noexcept { swap(other); }
  Descriptor& operator=(Descriptor&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Descriptor();

  cudnnBackendDescriptor_t raw() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }

  void set(cudnnBackendAttributeName_t what, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);
  template <class T>
  void set(cudnnBackendAttributeName_t what, cudnnBackendAttributeType_t type, const T& value) {
    set(what, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t what, std::int64_t value) {
    set(what, CUDNN_TYPE_INT64, 1, &value);
  }
  void set(cudnnBackendAttributeName_t what, const Descriptor& value) {
    set(what, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.raw_);
  }
  void set(cudnnBackendAttributeName_t what, const std::vector<Descriptor>& values);
  void finalize();

  /// Up to `room` values; how many there are.
  std::int64_t get(cudnnBackendAttributeName_t what, cudnnBackendAttributeType_t type,
                   std::int64_t room, void* values) const;
  std::int64_t number(cudnnBackendAttributeName_t what) const;
  /// Up to `most` descriptors of a kind.
  std::vector<Descriptor> list(cudnnBackendAttributeName_t what, cudnnBackendDescriptorType_t kind,
                               std::int64_t most) const;

 private:
  void swap(Descriptor& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(raw_, other.raw_);
  }
  void expect(cudnnStatus_t status, const char* what) const;

  const DnnApi* api_ = nullptr;
  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace plait::cuda
