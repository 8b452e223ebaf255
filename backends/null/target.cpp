// Takes everything: generated loops as C text, contractions whole, an op of any name by hand. What
// a step writes is zero.
#include "backends/null/target.h"

#include <cstring>
#include <utility>

#include "backends/generated_c.h"
#include "backends/stepwise.h"
#include "codegen/print_c.h"

namespace plait {
namespace {

void write_zeros(const program::Program& program, const program::Step& step,
                 const DimBindings& sizes, const Memory& memory) {
  for (const program::ViewId v : uses_of(step).writes) {
    const std::int64_t bytes = evaluate(program.view(v).type.bytes(), sizes);
    if (bytes > 0) std::memset(memory.at(program, v), 0, static_cast<std::size_t>(bytes));
  }
}

class NullTarget : public Target {
 public:
  explicit NullTarget(DeviceModel device) : device_(std::move(device)) {}

  std::string_view name() const override { return "null"; }
  std::string identity() const override { return "null"; }
  int threads() const override { return 1; }
  const DeviceModel& device() const override { return device_; }

  Decision has_hand(const std::string&) const override { return Decision::allow(); }

  PrintedLoop print(const loop::Kernel& kernel, bool fixed) const override {
    return printed_loop(codegen::print_kernel(kernel, fixed));
  }
  PrintedLoop print(const loop::Contraction& contraction, const loop::Kernel* epilogue, bool fixed,
                    const std::string&) const override {
    return printed_loop(codegen::print_contraction(contraction, epilogue, fixed));
  }

  Choice choose(const loop::Contraction& c, const loop::Kernel*, bool, const Work& work,
                const DimBindings&, Tuning&) const override {
    Choice out;
    const double products = work.operations / device_.operations(std::string(name_of(c.dtype)));
    out.predicted = memory(work);
    if (products > out.predicted.seconds) out.predicted = {products, "products"};
    out.kernel = "null.product";
    out.why = "the only one";
    return out;
  }
  Choice choose(const LoopCall& call, const Work& work, const DimBindings&) const override {
    Choice out;
    out.predicted = memory(work);
    out.kernel = call.kernel;
    out.why = "generated";
    return out;
  }
  Choice choose(const HandCall& call, const Work& work, const DimBindings&) const override {
    Choice out;
    out.predicted = memory(work);
    out.kernel = "null." + call.op;
    out.why = "the only one";
    return out;
  }

  std::unique_ptr<Runtime> open() const override { return make_stepwise_runtime(write_zeros); }

 private:
  Predicted memory(const Work& work) const {
    return {work.bytes / device_.bytes_per_second, "memory"};
  }

  DeviceModel device_;
};

}  // namespace

std::unique_ptr<Target> make_null_target(std::optional<DeviceModel> device) {
  return std::make_unique<NullTarget>(device ? std::move(*device) : *built_in_device("null"));
}

}  // namespace plait
