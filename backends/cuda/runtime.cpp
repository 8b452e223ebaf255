// A device as a runtime: memory there, and the programs that are loaded.
#include <algorithm>
#include <utility>

#include "backends/cuda/code.h"
#include "backends/cuda/placer.h"

namespace plait::cuda {
namespace {

class DeviceSpace : public Space {
 public:
  DeviceSpace(std::shared_ptr<Device> device, std::shared_ptr<Placer> placer, std::int64_t bytes,
              const std::string& what)
      : device_(std::move(device)), placer_(std::move(placer)), bytes_(bytes) {
    if (bytes > 0) data_ = device_->allocate(bytes, what);
  }
  ~DeviceSpace() override {
    if (data_) device_->release(data_);
  }
  DeviceSpace(const DeviceSpace&) = delete;
  DeviceSpace& operator=(const DeviceSpace&) = delete;
  char* data() const override { return data_; }
  bool is_host() const override { return false; }
  std::int64_t bytes() const override { return bytes_; }
  void write(std::int64_t offset, const void* from, std::int64_t bytes) override {
    if (bytes > 0) device_->write(data_ + offset, from, bytes);
  }
  bool write_in_layout(std::int64_t offset, const void* from, const HostLayout& layout) override {
    if (!Placer::takes(layout)) return false;
    placer_->write(data_ + offset, from, layout);
    return true;
  }
  bool zero(std::int64_t offset, std::int64_t bytes) override {
    device_->zero(data_ + offset, bytes);
    return true;
  }
  bool repeat(std::int64_t offset, std::int64_t part, std::int64_t bytes) override {
    for (std::int64_t done = part; done > 0 && done < bytes; done *= 2) {
      device_->copy(data_ + offset + done, data_ + offset, std::min(done, bytes - done));
    }
    return true;
  }
  void read(std::int64_t offset, void* to, std::int64_t bytes) const override {
    if (bytes > 0) device_->read(to, data_ + offset, bytes);
  }
  std::int64_t resident_bytes(std::int64_t, std::int64_t bytes) const override { return bytes; }

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<Placer> placer_;
  char* data_ = nullptr;
  std::int64_t bytes_;
};

class DeviceRuntime : public Runtime {
 public:
  DeviceRuntime(std::shared_ptr<Device> device, std::shared_ptr<const Libraries> libraries)
      : device_(std::move(device)),
        libraries_(std::move(libraries)),
        placer_(std::make_shared<Placer>(device_)) {}

  std::unique_ptr<Space> allocate(std::int64_t bytes, const std::string& what) const override {
    return std::make_unique<DeviceSpace>(device_, placer_, bytes, what);
  }
  std::unique_ptr<Code> load(const program::Program& program) const override {
    return load_code(device_, libraries_, placer_, program);
  }
  std::optional<std::int64_t> free_bytes() const override { return device_->free_bytes(); }
  std::vector<std::pair<std::string, double>> start_seconds() const override {
    std::vector<std::pair<std::string, double>> out = device_->start_seconds();
    if (!libraries_) return out;
    for (auto& part : libraries_->start_seconds()) out.push_back(std::move(part));
    return out;
  }

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<const Libraries> libraries_;
  std::shared_ptr<Placer> placer_;
};

}  // namespace

std::unique_ptr<Runtime> make_runtime(std::shared_ptr<Device> device,
                                      std::shared_ptr<const Libraries> libraries) {
  return std::make_unique<DeviceRuntime>(std::move(device), std::move(libraries));
}

}  // namespace plait::cuda
