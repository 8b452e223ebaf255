// What a GPU offers, and which implementation of a contraction it takes.
#include "backends/cuda/target.h"

#include <algorithm>
#include <cstdlib>

#include "backends/cuda/autotuner.h"
#include "backends/cuda/ceilings.h"
#include "backends/cuda/code.h"
#include "backends/cuda/fused.h"
#include "backends/cuda/hand/hand.h"
#include "backends/cuda/library/library.h"
#include "backends/cuda/library_guess.h"
#include "backends/cuda/single_kernel.h"
#include "base/build_id.h"
#include "base/hash.h"
#include "base/text.h"
#include "codegen/cuda/print.h"
#include "codegen/cuda/product.h"

namespace plait::cuda {
namespace {

// Behind the name of a model, where no device was there to plan for.
constexpr const char* kPlannedWithout = ", planned without a device";

// Fewer operations than this are generated: a library's launch is no faster.
constexpr std::int64_t kSmallProduct = 4'000'000;

// Products of at least so many operations, of which so many fill the device twice, share a launch:
// each alone leaves half of it idle.
constexpr std::int64_t kWorthATable = 4'000'000'000;
constexpr int kFewestTogether = 3;
// Bare products share a launch, so many at most, where two are guessed to take less than this part
// of their time alone.
constexpr int kMostTogether = 8;
constexpr double kTogetherPart = 0.85;

PrintedLoop as_loop(codegen::cuda::Printed p) {
  PrintedLoop out;
  out.call.kernel = p.kernel;
  out.call.function = {p.name, p.parameters, p.many};
  out.call.column_sizes = p.scratch_sizes;
  out.call.rows = p.blocks;
  out.call.finish_rows = p.finish_blocks;
  out.call.threads = p.threads;
  out.call.block_bytes = p.block_bytes;
  out.call.maps = p.maps;
  out.call.element_threads = p.element_threads;
  out.call.table = p.table;
  out.text = std::move(p.text);
  out.schedule = std::move(p.schedule);
  return out;
}

class CudaTarget : public Target {
 public:
  CudaTarget(std::shared_ptr<Device> device, std::shared_ptr<const Libraries> libraries,
             const CudaOptions& options)
      : device_(std::move(device)),
        libraries_(std::move(libraries)),
        options_(options),
        model_(options.model.value_or(h200())) {}

  std::string_view name() const override { return "cuda"; }
  std::string identity() const override {
    return str("cuda ", device_ ? device_->identity() : model_.name + kPlannedWithout,
               libraries_ ? ", " + libraries_->identity() : "", options_.tf32 ? ", tf32" : "",
               options_.fast ? ", fast" : "");
  }
  std::string build() const override { return build_id(); }
  int threads() const override { return 1; }
  const DeviceModel& device() const override { return model_; }
  int streams() const override { return streams_asked().value_or(kMostStreams); }

  Decision has_hand(const std::string& op) const override {
    if (find_hand(op)) return Decision::allow();
    return Decision::forbid("it has no kernel there; --backend ref runs it");
  }
  Decision keeps(const NodeView& node) const override {
    const HandEntry* entry = find_hand(node.op.name);
    if (!entry) return Decision::forbid("");
    if (!entry->takes) return Decision::allow();
    if (is_half(node.in(0).dtype) && !product_options().pairs) {
      return Decision::forbid("its tensor-core kernel needs a device of compute capability 9.0");
    }
    return entry->takes(node);
  }

  PrintedLoop print(const loop::Kernel& kernel, bool) const override {
    return as_loop(codegen::cuda::print_kernel(kernel, true, model_));
  }
  PrintedLoop print(const loop::Contraction& c, const loop::Kernel* epilogue, bool whole,
                    const std::string& variant) const override {
    codegen::cuda::ProductOptions how = product_options();
    how.variant = whole ? "simple" : variant;
    return as_loop(codegen::cuda::print_product(c, epilogue, true, how));
  }

  Choice choose(const loop::Contraction& c, const loop::Kernel* epilogue, bool, const Work&,
                const DimBindings& largest, Tuning& tuning) const override {
    Choice out;
    out.generated = true;
    const double own = codegen::cuda::product_us(c, epilogue, largest, product_options());
    out.predicted = {own * 1e-6, "products"};
    const std::int64_t operations = evaluate(loop::operations(c), largest);
    if (operations < kSmallProduct) {
      out.why = str("only ", operations, " operations");
      return out;
    }
    if (!device_ || !libraries_) {
      out.why = device_ ? "no library is there" : "unseen: planned without a device";
      return out;
    }
    const Autotuner autotuner(*device_, *libraries_, *this, options_.tf32);
    return autotuner.choose(c, epilogue, largest, tuning);
  }

  std::optional<GroupedLaunch> grouped_launch(const ProductCall::Part& part, bool bare,
                                              const DimBindings& largest) const override {
    const loop::Contraction& c = part.contraction;
    codegen::cuda::ProductOptions how = product_options();
    if (bare) {
      if (c.guarded || !worth_a_table(c, largest, how)) return std::nullopt;
      how.calls = 2;
      how.variant = codegen::cuda::product_variants(c, largest, how).front();
      return GroupedLaunch{
          as_loop(codegen::cuda::print_product(c, nullptr, true, how)),
          kMostTogether,
          0,
          {codegen::cuda::product_us(c, nullptr, largest, how) * 1e-6 / how.calls, "products"}};
    }
    if (!how.pairs || library_variant(part.variant).separate_epilogue != c.dtype)
      return std::nullopt;
    if (evaluate(loop::operations(c), largest) < kWorthATable) return std::nullopt;
    how.calls = kFewestTogether;
    const std::vector<std::string> variants = codegen::cuda::product_variants(c, largest, how);
    const auto pairs = std::find_if(variants.begin(), variants.end(), codegen::cuda::has_pairs);
    if (pairs == variants.end()) return std::nullopt;
    how.variant = *pairs;
    GroupedLaunch out;
    out.print = as_loop(codegen::cuda::print_product(c, nullptr, true, how));
    const std::int64_t blocks = evaluate(out.print.call.rows, largest);
    out.most = static_cast<int>(2 * processors() / blocks);
    if (out.most < kFewestTogether) return std::nullopt;
    out.shared_bytes = result_bytes(loop::bind(c, largest), c.dtype);
    out.predicted = {codegen::cuda::product_us(c, nullptr, largest, how) * 1e-6 / how.calls,
                     "products"};
    return out;
  }

  Choice choose(const LoopCall& call, const Work& work, const DimBindings& largest) const override {
    Choice out;
    out.kernel = call.kernel;
    for (const Dim& size : call.column_sizes) {
      out.shared_bytes += rounded(8 * evaluate(size, largest));
    }
    out.why = str("generated, ", evaluate(call.rows, largest), " blocks");
    out.predicted = moved(work.bytes, static_cast<double>(evaluate(call.work, largest)));
    if (!call.finish_rows.is(0)) out.predicted.seconds += model_.finish_seconds;
    return out;
  }

  Choice choose(const HandCall& call, const Work& work, const DimBindings& largest) const override {
    const HandEntry* entry = find_hand(call.op);
    const HandPlan plan = entry->plan(call, largest);
    Choice out;
    out.kernel = std::string(entry->id);
    out.shared_bytes = rounded(plan.scratch_bytes);
    const auto launches = static_cast<double>(plan.launches.size());
    const DType dtype = call.inputs[0].dtype;
    const bool tensor = entry->takes && is_half(dtype);  // on the tensor cores
    out.predicted = moved(work.bytes, work.operations);
    if (tensor) {
      out.predicted = {work.operations / model_.operations(std::string(name_of(dtype))),
                       "products"};
    }
    out.predicted.seconds =
        out.predicted.seconds / model_.share_of((tensor ? "tensor." : "hand.") + call.op) +
        std::max(0.0, launches - 1) * model_.step_seconds;
    out.why = "written by hand";
    return out;
  }

  void add_code(program::Program& program) const override {
    for (program::Step& step : program.steps) {
      for (program::Call& call : step.calls) {
        auto* hand = std::get_if<HandCall>(&call);
        if (!hand) continue;
        const std::string text = find_hand(hand->op)->text(*hand);
        hand->code = str("hand_", hand->op, "_", hex_digits(fnv1a64(text)));
        program.texts.emplace(hand->code, text);
      }
    }
    if (program.single_kernel && !program.texts.empty()) {
      program.texts.emplace(program::kSingleKernel, single_kernel_text(program));
    }
  }

  std::unique_ptr<Runtime> open() const override {
    if (!device_) throw RunError(options_.without);
    return make_runtime(device_, libraries_);
  }
  std::optional<DeviceModel> measured() const override {
    if (!device_) return std::nullopt;
    return ceilings_of(*device_, libraries_.get(), model_);
  }
  std::string f32_products() const override { return options_.tf32 ? "tf32" : "f32"; }

 private:
  codegen::cuda::ProductOptions product_options() const {
    const bool pairs = device_ ? device_->has_pairs() : model_.clusters > 0;
    return {.tf32 = options_.tf32, .pairs = pairs, .device = &model_};
  }
  int processors() const { return device_ ? device_->multiprocessors() : model_.processors; }

  /// Of bytes through memory, or through the cache where they fit there.
  Predicted moved(double bytes, double operations) const {
    const bool near = bytes <= static_cast<double>(model_.cache_bytes);
    const double rate = near ? model_.cache_bytes_per_second : model_.bytes_per_second;
    const double computed = operations / model_.operations("scalar");
    if (computed > bytes / rate) return {computed, "operations"};
    return {bytes / rate, near ? "cache" : "memory"};
  }

  /// Whether two bare products are clearly quicker in one launch than one behind the other. Small
  /// ones are: a launch takes longer than they do.
  bool worth_a_table(const loop::Contraction& c, const DimBindings& largest,
                     codegen::cuda::ProductOptions how) const {
    const std::int64_t operations = evaluate(loop::operations(c), largest);
    if (operations < kSmallProduct) return true;
    double alone = codegen::cuda::product_us(c, nullptr, largest, how);
    if (libraries_ && (is_half(c.dtype) || (c.dtype == DType::f32 && options_.tf32))) {
      alone = std::min(alone, library_us(model_, operations, c.dtype));
    }
    how.calls = 2;
    return codegen::cuda::product_us(c, nullptr, largest, how) < kTogetherPart * 2 * alone;
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<const Libraries> libraries_;
  CudaOptions options_;
  DeviceModel model_;
};

}  // namespace

std::optional<int> streams_asked() {
  const char* given = std::getenv("PLAIT_CUDA_STREAMS");
  if (!given || *given == '\0') return std::nullopt;
  const std::int64_t streams = parse_integer(given, "PLAIT_CUDA_STREAMS");
  if (streams < 1 || streams > kMostStreams) {
    fail("PLAIT_CUDA_STREAMS is ", given, "; it is 1 to ", kMostStreams);
  }
  return static_cast<int>(streams);
}

std::unique_ptr<Target> make_cuda_target(std::shared_ptr<Device> device,
                                         std::shared_ptr<const Libraries> libraries,
                                         const CudaOptions& options) {
  return std::make_unique<CudaTarget>(std::move(device), std::move(libraries), options);
}

}  // namespace plait::cuda
