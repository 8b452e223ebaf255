// A target that only plans: large products lie apart from what follows them, and so many of one
// shape are one grouped launch; bare ones too where that is asked for.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/backends.h"
#include "backends/runtime.h"
#include "base/text.h"
#include "plan/draft.h"
#include "program/program.h"
#include "run/compile.h"

namespace plait::plan {

inline constexpr std::int64_t kLarge =
    64'000'000;  // operations; smaller products are joined elsewhere
inline constexpr std::int64_t kAlone = 1 << 20, kGrouped = 3 << 10;  // bytes of workspace
inline constexpr int kNever = 0;

enum class Bare { kAlone, kTogether };

/// The cpu's, but large products lie apart from what follows them, and `most` share a launch.
class Batches : public Target {
 public:
  explicit Batches(int most, Bare bare = Bare::kAlone) : most_(most), bare_(bare) {}
  std::string_view name() const override { return "batches"; }
  std::string identity() const override { return str("batches ", most_); }
  int threads() const override { return 1; }
  const DeviceModel& device() const override { return cpu_->device(); }
  Decision has_hand(const std::string& op) const override { return cpu_->has_hand(op); }
  PrintedLoop print(const loop::Kernel& kernel, bool fixed) const override {
    return cpu_->print(kernel, fixed);
  }
  PrintedLoop print(const loop::Contraction& c, const loop::Kernel* epilogue, bool fixed,
                    const std::string& variant) const override {
    return cpu_->print(c, epilogue, fixed, variant);
  }
  Choice choose(const loop::Contraction& c, const loop::Kernel* epilogue, bool b_constant,
                const Work& work, const DimBindings& largest, Tuning& tuning) const override {
    if (!epilogue || evaluate(loop::operations(c), largest) < kLarge) {
      return cpu_->choose(c, epilogue, b_constant, work, largest, tuning);
    }
    Choice out;
    out.kernel = "library";
    out.variant = "library apart";
    out.shared_bytes = kAlone;
    out.separate_epilogue = c.dtype;
    return out;
  }
  Choice choose(const LoopCall& call, const Work& work, const DimBindings& largest) const override {
    return cpu_->choose(call, work, largest);
  }
  Choice choose(const HandCall& call, const Work& work, const DimBindings& largest) const override {
    return cpu_->choose(call, work, largest);
  }
  std::optional<GroupedLaunch> grouped_launch(const ProductCall::Part& part, bool bare,
                                              const DimBindings&) const override {
    EXPECT_EQ(part.variant == "library apart", !bare);
    if (most_ == kNever || (bare && bare_ == Bare::kAlone)) return std::nullopt;
    GroupedLaunch out;
    out.print.call.function.name = "k_pair_0123456789abcdef";
    out.print.call.kernel = "loop.pair.01234567";
    out.print.call.rows = 4;
    out.print.call.table = true;
    out.print.text = "void k_pair_0123456789abcdef(void) {}\n";
    out.most = most_;
    out.shared_bytes = bare ? 0 : kGrouped;
    return out;
  }
  std::unique_ptr<Runtime> open() const override { throw Bug("this target only plans"); }

 private:
  std::unique_ptr<Target> cpu_ = make_target("cpu", 1);
  int most_;
  Bare bare_;
};

inline program::Program planned(const ir::Graph& graph, int most, Bare bare = Bare::kAlone) {
  return compile(graph, Batches(most, bare), {.plan = {}, .use_cache = false}).program;
}

inline std::vector<const ProductCall*> products_of(const Step& step) {
  std::vector<const ProductCall*> out;
  for (const program::Call& call : step.calls) {
    if (const auto* product = std::get_if<ProductCall>(&call)) out.push_back(product);
  }
  return out;
}

inline bool is_tabled(const ProductCall& call) { return call.parts[0].generated.table; }

/// How many products each step has that has more than one, in their order.
inline std::vector<std::size_t> grouped_launches(const std::vector<Step>& steps) {
  std::vector<std::size_t> out;
  for (const Step& s : steps) {
    if (const std::size_t count = products_of(s).size(); count > 1) out.push_back(count);
  }
  return out;
}

}  // namespace plait::plan
