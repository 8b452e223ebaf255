// A device that keeps the names of the kernels launched on another one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/device.h"

namespace plait::test {

class TracedDevice : public cuda::Device {
 public:
  explicit TracedDevice(std::shared_ptr<cuda::Device> inner) : inner_(std::move(inner)) {}

  std::vector<std::string> launched;

  std::string identity() const override { return inner_->identity(); }
  int multiprocessors() const override { return inner_->multiprocessors(); }
  int most_block_bytes() const override { return inner_->most_block_bytes(); }
  std::int64_t free_bytes() const override { return inner_->free_bytes(); }
  char* allocate(std::int64_t bytes, const std::string& what) override {
    return inner_->allocate(bytes, what);
  }
  void release(char* data) noexcept override { inner_->release(data); }
  void write(char* to, const void* from, std::int64_t bytes) override {
    inner_->write(to, from, bytes);
  }
  void read(void* to, const char* from, std::int64_t bytes) override {
    inner_->read(to, from, bytes);
  }
  void zero(char* to, std::int64_t bytes) override { inner_->zero(to, bytes); }
  void copy(char* to, const char* from, std::int64_t bytes) override {
    inner_->copy(to, from, bytes);
  }
  void feed(int slot, char* to, const void* from, std::int64_t bytes) override {
    inner_->feed(slot, to, from, bytes);
  }
  void take_feeds(int slot) override { inner_->take_feeds(slot); }
  void feeds_taken(int slot) override { inner_->feeds_taken(slot); }
  void wait() override { inner_->wait(); }

  cuda::Built compile(const std::vector<std::string>& texts) override {
    cuda::Built built = inner_->compile(texts);
    for (std::shared_ptr<cuda::Module>& module : built.modules) {
      module = std::make_shared<TracedModule>(std::move(module), names_);
    }
    return built;
  }
  void launch(const cuda::Launch& launch) override {
    launched.push_back((*names_)[launch.function]);
    inner_->launch(launch);
  }

  bool can_record() const override { return inner_->can_record(); }
  void begin_recording() override { inner_->begin_recording(); }
  std::unique_ptr<cuda::Recording> end_recording() override { return inner_->end_recording(); }
  void replay(const cuda::Recording& recording) override { inner_->replay(recording); }
  void fork(int streams) override { inner_->fork(streams); }
  void set_stream(int which) override { inner_->set_stream(which); }
  void join() override { inner_->join(); }
  int signal() override { return inner_->signal(); }
  void await(int signal) override { inner_->await(signal); }
  int mark() override { return inner_->mark(); }
  double seconds(int from, int to) override { return inner_->seconds(from, to); }
  void forget_marks() override { inner_->forget_marks(); }
  void* stream() const override { return inner_->stream(); }

 private:
  using Names = std::map<const void*, std::string>;  // of functions
  class TracedModule : public cuda::Module {
   public:
    TracedModule(std::shared_ptr<cuda::Module> inner, std::shared_ptr<Names> names)
        : inner_(std::move(inner)), names_(std::move(names)) {}
    const void* function(const std::string& name) const override {
      const void* found = inner_->function(name);
      (*names_)[found] = name;
      return found;
    }

   private:
    std::shared_ptr<cuda::Module> inner_;
    std::shared_ptr<Names> names_;
  };

  std::shared_ptr<cuda::Device> inner_;
  std::shared_ptr<Names> names_ = std::make_shared<Names>();
};

}  // namespace plait::test
