// Code that is a function and where its values are.
#include "backends/stepwise.h"

#include "backends/region.h"

namespace plait {
namespace {

class StepwiseCode : public Code {
 public:
  StepwiseCode(const program::Program& program, RunStep run) : program_(program), run_(run) {}

  void bind(const DimBindings& sizes, const Memory& memory) override {
    sizes_ = sizes;
    memory_ = memory;
  }
  void constants_changed() override {}
  const char* run(std::size_t step) override {
    run_(program_, program_.steps[step], sizes_, memory_);
    return nullptr;
  }
  bool run_whole(const char*&) override { return false; }
  bool has_whole() const override { return false; }
  const char* wait(std::size_t&) override { return nullptr; }
  bool run_timed(std::vector<double>&) override { return false; }
  bool run_row(int, double*, bool) override { return false; }
  double build_seconds() const override { return 0; }
  int built_from_cache() const override { return 0; }
  int units() const override { return 0; }

 private:
  const program::Program& program_;
  RunStep run_;
  DimBindings sizes_;
  Memory memory_;
};

class StepwiseRuntime : public Runtime {
 public:
  explicit StepwiseRuntime(RunStep run) : run_(run) {}
  std::unique_ptr<Space> allocate(std::int64_t bytes, const std::string& what) const override {
    return std::make_unique<Region>(bytes, what);
  }
  std::unique_ptr<Code> load(const program::Program& program) const override {
    return std::make_unique<StepwiseCode>(program, run_);
  }

 private:
  RunStep run_;
};

}  // namespace

std::unique_ptr<Runtime> make_stepwise_runtime(RunStep run) {
  return std::make_unique<StepwiseRuntime>(run);
}

}  // namespace plait
