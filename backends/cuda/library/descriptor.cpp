// cuDNN's backend interface: attributes in, attributes out.
#include "backends/cuda/library/descriptor.h"

#include <algorithm>

#include "base/error.h"

namespace plait::cuda {

Descriptor::Descriptor(const DnnApi& api, cudnnBackendDescriptorType_t kind) : api_(&api) {
  expect(api.make(kind, &raw_), "make a descriptor");
}

Descriptor::~Descriptor() {
  if (raw_ != nullptr) api_->destroy(raw_);
}

void Descriptor::expect(cudnnStatus_t status, const char* what) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char said[400] = "";
  api_->last_error(said, sizeof(said));
  throw RunError(str("cannot ", what, ": ", api_->text(status), said[0] != '\0' ? ", " : "", said));
}

void Descriptor::set(cudnnBackendAttributeName_t what, cudnnBackendAttributeType_t type,
                     std::int64_t count, const void* values) {
  expect(api_->set(raw_, what, type, count, values), "set an attribute");
}

void Descriptor::set(cudnnBackendAttributeName_t what, const std::vector<Descriptor>& values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& d : values) raw.push_back(d.raw_);
  set(what, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()), raw.data());
}

void Descriptor::finalize() { expect(api_->finalize(raw_), "finish a descriptor"); }

std::int64_t Descriptor::get(cudnnBackendAttributeName_t what, cudnnBackendAttributeType_t type,
                             std::int64_t room, void* values) const {
  std::int64_t count = 0;
  expect(api_->get(raw_, what, type, room, &count, values), "get an attribute");
  return count;
}

std::int64_t Descriptor::number(cudnnBackendAttributeName_t what) const {
  std::int64_t value = 0;
  get(what, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

std::vector<Descriptor> Descriptor::list(cudnnBackendAttributeName_t what,
                                         cudnnBackendDescriptorType_t kind,
                                         std::int64_t most) const {
  std::vector<Descriptor> out;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < most; ++i) {
    out.emplace_back(*api_, kind);
    raw.push_back(out.back().raw_);
  }
  const std::int64_t count = get(what, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data());
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(std::min(count, most)), out.end());
  return out;
}

}  // namespace plait::cuda
