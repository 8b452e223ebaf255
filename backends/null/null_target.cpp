// Takes everything: generated loops as C text, contractions whole, an op of any name by hand.
#include "backends/null/null_target.h"

#include "backends/generated_c.h"
#include "backends/runtime.h"
#include "codegen/print_c.h"

namespace plait {
namespace {

class NullTarget : public Target {
 public:
  std::string_view name() const override { return "null"; }
  std::string identity() const override { return "null"; }
  int threads() const override { return 1; }

  Decision has_hand(const std::string&) const override { return Decision::allow(); }

  PrintedLoop print(const loop::Kernel& kernel, bool fixed) const override {
    return printed_loop(codegen::print_kernel(kernel, fixed));
  }
  PrintedLoop print(const loop::Contraction& contraction, const loop::Kernel* epilogue, bool fixed,
                    const std::string&) const override {
    return printed_loop(codegen::print_contraction(contraction, epilogue, fixed));
  }

  Choice choose(const loop::Contraction&, const loop::Kernel*, bool, const DimBindings&,
                Tuning&) const override {
    Choice out;
    out.kernel = "null.product";
    out.why = "the only one";
    return out;
  }
  Choice choose(const LoopCall& call, const DimBindings&) const override {
    Choice out;
    out.kernel = call.kernel;
    out.why = "generated";
    return out;
  }
  Choice choose(const HandCall& call, const DimBindings&) const override {
    Choice out;
    out.kernel = "null." + call.op;
    out.why = "the only one";
    return out;
  }

  std::unique_ptr<Runtime> open() const override {
    fail("programs can be planned for the null backend, not run on it: take --backend cpu");
  }
};

}  // namespace

std::unique_ptr<Target> make_null_target() { return std::make_unique<NullTarget>(); }

}  // namespace plait
