// What the CPU offers, and which implementation of a contraction it takes.
#include "backends/cpu/target.h"

#include <algorithm>

#include "backends/cpu/code.h"
#include "backends/cpu/contract/contract.h"
#include "backends/cpu/cost.h"
#include "backends/cpu/cut.h"
#include "backends/cpu/hand/hand.h"
#include "backends/cpu/measure.h"
#include "backends/cpu/pool.h"
#include "backends/cpu/single_kernel.h"
#include "backends/generated_c.h"
#include "backends/tuning.h"
#include "base/hash.h"
#include "base/text.h"
#include "codegen/compile.h"
#include "codegen/print_c.h"
#include "ops/table.h"

namespace plait {
namespace {

// Fewer multiply-adds than this are loops: the engine's set-up would take longer.
constexpr std::int64_t kSmallProduct = 16 * 1024;

std::string problem_key(const cpu::Problem& p) {
  std::string key = str(name_of(p.dtype), p.a0, ' ', p.b0, ' ', p.c0, ' ', p.guarded, p.h0, ' ',
                        p.w0, ' ', p.height, ' ', p.width);
  for (const auto* axes : {&p.batch, &p.m, &p.n, &p.k}) {
    key += '|';
    for (const cpu::Axis& x : *axes) {
      key += str(x.extent, ',', x.a, ',', x.b, ',', x.c, ',', x.h, ',', x.w, ';');
    }
  }
  return key;
}

class CpuTarget : public Target {
 public:
  CpuTarget(int threads, DeviceModel device)
      : isa_(cpu::detect_isa()),
        threads_(threads > 0 ? threads : cpu::default_threads()),
        device_(std::move(device)) {}

  std::string_view name() const override { return "cpu"; }
  std::string identity() const override {
    if (identity_.empty()) {
      const bool f32_tiles = isa_ == cpu::Isa::kAmx && cpu::has_f32_tiles();
      identity_ =
          str("cpu ", cpu::name_of(isa_), f32_tiles ? " with f32 tiles" : "",
              cpu::has_winograd() ? ", " : " without winograd, ", codegen::compiler_identity());
    }
    return identity_;
  }
  int threads() const override { return threads_; }
  const DeviceModel& device() const override { return device_; }

  Decision has_hand(const std::string& op) const override {
    if (cpu::find_hand(op)) return Decision::allow();
    return Decision::forbid("it has no kernel there; --backend ref runs it");
  }
  Decision keeps(const NodeView& node) const override {
    return cpu::find_hand(node.op.name) ? Decision::allow() : Decision::forbid("");
  }

  PrintedLoop print(const loop::Kernel& kernel, bool fixed) const override {
    return printed_loop(codegen::print_kernel(kernel, fixed));
  }
  PrintedLoop print(const loop::Contraction& c, const loop::Kernel* epilogue, bool fixed,
                    const std::string&) const override {
    return printed_loop(codegen::print_contraction(c, epilogue, fixed));
  }

  Choice choose(const loop::Contraction& c, const loop::Kernel*, bool b_constant, const Work& work,
                const DimBindings& largest, Tuning& tuning) const override {
    Choice out;
    const cpu::Problem problem = cpu::problem_of(loop::bind(c, largest));
    const auto as_loops = [&](std::string why) {
      out.generated = true;
      out.why = std::move(why);
      return out;
    };
    if (problem.dtype != DType::f32 && !is_half(problem.dtype)) {
      return as_loops(str("the engine has no ", name_of(problem.dtype)));
    }
    const std::int64_t operations = evaluate(loop::operations(c), largest);
    if (operations < 2 * kSmallProduct) return as_loops(str("only ", operations, " operations"));
    std::vector<cpu::Variant> accepted;
    std::vector<cpu::Cost> costs;
    std::vector<std::string> notes;
    for (const auto& [v, cost, score, fits] : cpu::ranked_variants(problem, isa_, b_constant)) {
      const Decision d = cpu::accepts(problem, v);
      if (d) {
        accepted.push_back(v);
        costs.push_back(cost);
      } else if (notes.size() < 4) {
        notes.push_back(str(to_text(v), ": ", d.why));
      }
    }
    if (accepted.empty()) return as_loops("no variant accepts it: " + join(notes, "; "));
    std::size_t best = 0;
    std::string times;
    if (tuning.measure && accepted.size() > 1) best = fastest(problem, accepted, tuning, times);
    const cpu::Contract contract(problem, accepted[best]);
    out.kernel = contract.id();
    out.variant = to_text(accepted[best]);
    out.epilogue_along_m = cpu::lies_along_m(problem);
    out.predicted = cpu::predict_product({device_, threads_}, accepted[best], problem.dtype,
                                         costs[best], work.bytes);
    out.thread_bytes = contract.scratch_bytes();
    (b_constant ? out.persistent_bytes : out.shared_bytes) =
        (contract.packed_bytes() + 63) / 64 * 64;
    out.why = times.empty() ? str("best guess of ", accepted.size(), " that accept it") : times;
    for (std::size_t i = 0; times.empty() && i < accepted.size() && i < 4; ++i) {
      if (i != best) out.why += str("; over ", to_text(accepted[i]));
    }
    for (const std::string& note : notes) out.why += "; not " + note;
    return out;
  }

  Choice choose(const LoopCall& call, const Work& work, const DimBindings& largest) const override {
    Choice out;
    out.kernel = call.kernel;
    const std::int64_t tasks =
        cpu::loop_tasks(evaluate(call.rows, largest), evaluate(call.work, largest));
    for (const Dim& size : call.column_sizes) {
      out.shared_bytes += cpu::column_bytes(evaluate(size, largest), tasks);
    }
    out.thread_bytes =
        cpu::scratch_bytes_of(call.scratch_rows, evaluate(call.scratch_row_size, largest));
    out.why = str("generated, ", tasks, " tasks");
    const auto operations = static_cast<double>(evaluate(call.work, largest));
    out.predicted = cpu::predict_loop({device_, threads_}, tasks, operations, work);
    return out;
  }

  Choice choose(const HandCall& call, const Work& work, const DimBindings& largest) const override {
    Choice out;
    out.kernel = std::string(cpu::find_hand(call.op)->id);
    const auto kernel = cpu::make_hand(call, largest);
    out.thread_bytes = kernel->scratch_bytes();
    out.shared_bytes = (kernel->shared_bytes() + 63) / 64 * 64;
    out.predicted = cpu::predict_hand({device_, threads_}, kernel->tasks(), call.op, work);
    out.why = "written by hand";
    return out;
  }

  void add_code(program::Program& program) const override {
    if (!program.single_kernel || program.texts.empty()) return;
    program.texts.emplace(program::kSingleKernel, single_kernel_text(program));
  }

  std::unique_ptr<Runtime> open() const override { return cpu::make_runtime(threads_); }

 private:
  /// The measured best, as it was measured before where it was.
  std::size_t fastest(const cpu::Problem& problem, const std::vector<cpu::Variant>& accepted,
                      Tuning& tuning, std::string& times) const {
    const std::size_t count = std::min<std::size_t>(accepted.size(), 4);
    std::string key = str(identity(), problem_key(problem));
    for (std::size_t i = 0; i < count; ++i) key += to_text(accepted[i]);
    if (const auto stored = known_result(tuning, "choice", fnv1a64(key))) {
      const std::size_t cut = stored->find('\n');
      times = stored->substr(cut + 1);
      return std::strtoul(stored->c_str(), nullptr, 10) % count;
    }
    std::size_t best = 0;
    double least = 1e9;
    for (std::size_t i = 0; i < count; ++i) {
      const double seconds = cpu::trial_seconds(problem, accepted[i]);
      char ms[32];
      std::snprintf(ms, sizeof ms, "%.3f ms", seconds * 1e3);
      times += str(i ? ", " : "measured ", to_text(accepted[i]), " ", ms);
      if (seconds < least) {
        least = seconds;
        best = i;
      }
    }
    keep_result(tuning, "choice", fnv1a64(key), str(best, '\n', times));
    return best;
  }

  cpu::Isa isa_;
  int threads_;
  DeviceModel device_;
  mutable std::string identity_;
};

}  // namespace

std::unique_ptr<Target> make_cpu_target(int threads, std::optional<DeviceModel> device) {
  return std::make_unique<CpuTarget>(threads,
                                     device ? std::move(*device) : *built_in_device("cpu"));
}

}  // namespace plait
