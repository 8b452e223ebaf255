// What the CPU offers, and which implementation of a contraction it takes.
#include "backends/cpu/target.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "backends/cpu/code.h"
#include "backends/cpu/contract/contract.h"
#include "backends/cpu/cut.h"
#include "backends/cpu/hand/hand.h"
#include "backends/cpu/pool.h"
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

/// Bytes that the axes of an operand span, for a trial run.
std::int64_t span(const cpu::Problem& p, std::int64_t cpu::Axis::*step, std::int64_t origin) {
  std::int64_t last = std::max<std::int64_t>(0, origin);
  for (const auto* axes : {&p.batch, &p.m, &p.n, &p.k}) {
    for (const cpu::Axis& x : *axes) {
      last += std::max<std::int64_t>(0, (x.extent - 1) * (x.*step));
    }
  }
  return (last + 1) * static_cast<std::int64_t>(size_of(p.dtype)) + 4096;
}

/// Seconds of one run of a variant on one thread, the best of a few.
double trial(const cpu::Problem& problem, const cpu::Variant& variant) {
  const cpu::Contract contract(problem, variant);
  std::vector<char> a(static_cast<std::size_t>(span(problem, &cpu::Axis::a, problem.a0))),
      b(static_cast<std::size_t>(span(problem, &cpu::Axis::b, problem.b0))),
      c(static_cast<std::size_t>(span(problem, &cpu::Axis::c, problem.c0))),
      packed(static_cast<std::size_t>(contract.packed_bytes()) + 64),
      scratch(static_cast<std::size_t>(contract.scratch_bytes()) + 64);
  const auto aligned = [](std::vector<char>& v) {
    return reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(v.data()) + 63) &
                                   ~std::uintptr_t(63));
  };
  double best = 1e9;
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t t = 0; t < contract.pack_tasks(); ++t)
      contract.pack(t, a.data(), b.data(), aligned(packed), aligned(scratch));
    // Some tasks stand for all: they are alike.
    const std::int64_t tasks = std::min<std::int64_t>(contract.tasks(), 8);
    for (std::int64_t t = 0; t < tasks; ++t) {
      contract.run(t, a.data(), b.data(), aligned(packed), c.data(), nullptr, nullptr,
                   aligned(scratch));
    }
    const auto now = std::chrono::steady_clock::now();
    const double share = static_cast<double>(contract.tasks()) /
                         static_cast<double>(std::max<std::int64_t>(1, tasks));
    best = std::min(best, std::chrono::duration<double>(now - start).count() * share);
    if (std::chrono::duration<double>(now - begin).count() > 0.05) break;
  }
  return best;
}

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
  explicit CpuTarget(int threads)
      : isa_(cpu::detect_isa()), threads_(threads > 0 ? threads : cpu::default_threads()) {}

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

  Decision has_hand(const std::string& op) const override {
    if (cpu::find_hand(op)) return Decision::allow();
    return Decision::forbid("it has no kernel there; --backend ref runs it");
  }

  PrintedLoop print(const loop::Kernel& kernel, bool fixed) const override {
    return printed_loop(codegen::print_kernel(kernel, fixed));
  }
  PrintedLoop print(const loop::Contraction& c, const loop::Kernel* epilogue, bool fixed,
                    const std::string&) const override {
    return printed_loop(codegen::print_contraction(c, epilogue, fixed));
  }

  Choice choose(const loop::Contraction& c, const loop::Kernel*, bool b_constant,
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
    std::vector<std::string> notes;
    for (const cpu::Variant& v : cpu::variants(problem, isa_, b_constant)) {
      const Decision d = cpu::accepts(problem, v);
      if (d) {
        accepted.push_back(v);
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
    out.turned = cpu::lies_along_m(problem);
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

  Choice choose(const LoopCall& call, const DimBindings& largest) const override {
    Choice out;
    out.kernel = call.kernel;
    const std::int64_t tasks =
        cpu::loop_tasks(evaluate(call.rows, largest), evaluate(call.work, largest));
    for (const Dim& size : call.column_sizes) {
      out.shared_bytes += cpu::column_bytes(evaluate(size, largest), tasks);
    }
    out.thread_bytes = cpu::kept_bytes(call.kept, evaluate(call.kept_size, largest));
    out.why = str("generated, ", tasks, " tasks");
    return out;
  }

  Choice choose(const HandCall& call, const DimBindings& largest) const override {
    Choice out;
    out.kernel = std::string(cpu::find_hand(call.op)->id);
    out.thread_bytes = cpu::make_hand(call, largest)->scratch_bytes();
    out.why = "written by hand";
    return out;
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
      const double seconds = trial(problem, accepted[i]);
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
  mutable std::string identity_;
};

}  // namespace

std::unique_ptr<Target> make_cpu_target(int threads) {
  return std::make_unique<CpuTarget>(threads);
}

}  // namespace plait
