// A target whose memory counts what moves between it and the host, region by region.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/runtime.h"
#include "backends/target.h"

namespace plait::test {

/// By what a region is for, as Runtime::allocate is told.
struct Counts {
  std::map<std::string, std::int64_t> moved;      // bytes written and read
  std::map<std::string, std::int64_t> allocated;  // bytes that are there now
  std::int64_t all_allocated() const {
    std::int64_t sum = 0;
    for (const auto& [what, bytes] : allocated) sum += bytes;
    return sum;
  }
};

class CountedSpace : public Space {
 public:
  CountedSpace(std::unique_ptr<Space> inner, std::shared_ptr<Counts> counts, std::string what)
      : inner_(std::move(inner)), counts_(std::move(counts)), what_(std::move(what)) {
    counts_->allocated[what_] += inner_->bytes();
  }
  ~CountedSpace() override { counts_->allocated[what_] -= inner_->bytes(); }
  char* data() const override { return inner_->data(); }
  /// The host takes no way past the counter.
  bool is_host() const override { return false; }
  std::int64_t bytes() const override { return inner_->bytes(); }
  void write(std::int64_t offset, const void* from, std::int64_t bytes) override {
    count(bytes);
    inner_->write(offset, from, bytes);
  }
  bool write_in_layout(std::int64_t offset, const void* from, const HostLayout& laid) override {
    const bool done = inner_->write_in_layout(offset, from, laid);
    if (done) count(laid.bytes());
    return done;
  }
  bool zero(std::int64_t offset, std::int64_t bytes) override {
    return inner_->zero(offset, bytes);
  }
  bool repeat(std::int64_t offset, std::int64_t part, std::int64_t bytes) override {
    return inner_->repeat(offset, part, bytes);
  }
  void read(std::int64_t offset, void* to, std::int64_t bytes) const override {
    count(bytes);
    inner_->read(offset, to, bytes);
  }
  std::int64_t resident_bytes(std::int64_t offset, std::int64_t bytes) const override {
    return inner_->resident_bytes(offset, bytes);
  }

 private:
  void count(std::int64_t bytes) const { counts_->moved[what_] += bytes; }

  std::unique_ptr<Space> inner_;
  std::shared_ptr<Counts> counts_;
  std::string what_;
};

class CountedRuntime : public Runtime {
 public:
  CountedRuntime(std::unique_ptr<Runtime> inner, std::shared_ptr<Counts> counts)
      : inner_(std::move(inner)), counts_(std::move(counts)) {}
  std::unique_ptr<Space> allocate(std::int64_t bytes, const std::string& what) const override {
    return std::make_unique<CountedSpace>(inner_->allocate(bytes, what), counts_, what);
  }
  std::unique_ptr<Code> load(const program::Program& program) const override {
    return inner_->load(program);
  }
  std::optional<std::int64_t> free_bytes() const override { return inner_->free_bytes(); }

 private:
  std::unique_ptr<Runtime> inner_;
  std::shared_ptr<Counts> counts_;
};

class CountedTarget : public Target {
 public:
  CountedTarget(std::unique_ptr<Target> inner, std::shared_ptr<Counts> counts)
      : inner_(std::move(inner)), counts_(std::move(counts)) {}
  std::string_view name() const override { return inner_->name(); }
  std::string identity() const override { return inner_->identity(); }
  std::string build() const override { return inner_->build(); }
  int threads() const override { return inner_->threads(); }
  const DeviceModel& device() const override { return inner_->device(); }
  int streams() const override { return inner_->streams(); }
  Decision has_hand(const std::string& op) const override { return inner_->has_hand(op); }
  PrintedLoop print(const loop::Kernel& kernel, bool fixed) const override {
    return inner_->print(kernel, fixed);
  }
  PrintedLoop print(const loop::Contraction& contraction, const loop::Kernel* epilogue, bool fixed,
                    const std::string& variant) const override {
    return inner_->print(contraction, epilogue, fixed, variant);
  }
  Choice choose(const loop::Contraction& contraction, const loop::Kernel* epilogue, bool b_constant,
                const Work& work, const DimBindings& largest, Tuning& tuning) const override {
    return inner_->choose(contraction, epilogue, b_constant, work, largest, tuning);
  }
  Choice choose(const LoopCall& call, const Work& work, const DimBindings& largest) const override {
    return inner_->choose(call, work, largest);
  }
  Choice choose(const HandCall& call, const Work& work, const DimBindings& largest) const override {
    return inner_->choose(call, work, largest);
  }
  std::optional<GroupedLaunch> grouped_launch(const ProductCall::Part& part, bool bare,
                                              const DimBindings& largest) const override {
    return inner_->grouped_launch(part, bare, largest);
  }
  void add_code(program::Program& program) const override { inner_->add_code(program); }
  std::unique_ptr<Runtime> open() const override {
    return std::make_unique<CountedRuntime>(inner_->open(), counts_);
  }

 private:
  std::unique_ptr<Target> inner_;
  std::shared_ptr<Counts> counts_;
};

}  // namespace plait::test
