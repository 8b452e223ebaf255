// Loading and running a program's calls.
#include "backends/cpu/code.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <string_view>

#include "backends/cpu/batch.h"
#include "backends/cpu/contract/contract.h"
#include "backends/cpu/pool.h"
#include "backends/region.h"
#include "base/at.h"
#include "codegen/compile.h"
#include "codegen/print_c.h"
#include "ops/table.h"

namespace plait::cpu {
namespace {

std::vector<std::int64_t> numbers(const std::vector<Dim>& dims, const DimBindings& sizes) {
  std::vector<std::int64_t> out;
  for (const Dim& d : dims) out.push_back(evaluate(d, sizes));
  return out;
}

/// One part of a contraction, with sizes and addresses fixed.
struct PartRun {
  std::unique_ptr<Contract> contract;
  const char *a = nullptr, *b = nullptr;
  char *c = nullptr, *packed = nullptr;
  codegen::TileFunction epilogue = nullptr;
  std::vector<char*> pointers;
  std::vector<std::int64_t> sizes;
  int* bad = nullptr;
  bool epilogue_along_m = false, constant = false;
  LoopRun loops;  // where it is generated

  static void sink(const void* context, std::int64_t batch, std::int64_t m0, std::int64_t m1,
                   std::int64_t n0, std::int64_t n1, const float* tile, std::int64_t ld) {
    const auto* part = static_cast<const PartRun*>(context);
    part->epilogue(part->pointers.data(), part->sizes.data(), batch, m0, m1, n0, n1, tile, ld,
                   part->bad);
  }
};

struct HandRun {
  std::unique_ptr<HandKernel> kernel;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  char* shared = nullptr;
};

/// A stage of a step: tasks of several parts, numbered through.
struct Tasks {
  std::vector<std::int64_t> first;  // of each part, and the total behind them
  void set(const std::vector<std::int64_t>& counts) {
    first.assign(1, 0);
    for (std::int64_t n : counts) first.push_back(first.back() + n);
  }
  std::int64_t total() const { return first.empty() ? 0 : first.back(); }
  std::size_t part_of(std::int64_t task) const {
    return at(std::upper_bound(first.begin(), first.end(), task) - first.begin() - 1);
  }
};

struct StepRun {
  std::vector<LoopRun> loops;
  std::vector<LoopBatch> batches;
  std::vector<PartRun> parts;
  HandRun hand;
  Tasks work, pack, pack_once, finish;
  bool packed = false;  // what pack_once packs
};

/// Every thread on a cpu of its own, the calling one too: otherwise the system may put it beside a
/// worker. PLAIT_PIN=0 leaves them to the system.
bool is_pinned() {
  const char* value = std::getenv("PLAIT_PIN");
  return !value || std::string_view(value) != "0";
}

class CpuCode : public Code {
 public:
  CpuCode(const program::Program& program, int threads)
      : program_(program), pool_(threads, is_pinned(), is_pinned()) {
    compile(program.texts);
  }

  void bind(const DimBindings& sizes, const Memory& memory) override {
    memory_ = memory;
    runs_.clear();
    for (const program::Step& step : program_.steps) {
      runs_.emplace_back();
      bind_step(step.calls, sizes, runs_.back());
    }
    for (StepRun& run : runs_) {
      for (PartRun& part : run.parts) part.bad = &bad_;
    }
    if (whole_) {
      whole_pointers_.clear();
      for (const StepRun& run : runs_) add_whole(run);
    }
  }

  void constants_changed() override {
    for (StepRun& run : runs_) run.packed = false;
  }

  const char* run(std::size_t step) override {
    StepRun& s = runs_[step];
    current_ = &s;
    if (s.pack_once.total() > 0 && !s.packed) pool_.run(s.pack_once.total(), pack_once_task, this);
    s.packed = true;
    if (s.pack.total() > 0) pool_.run(s.pack.total(), pack_task, this);
    if (s.work.total() > 0) pool_.run(s.work.total(), work_task, this);
    if (s.finish.total() > 0) pool_.run(s.finish.total(), finish_task, this);
    return error();
  }

  bool run_whole(const char*& error_text) override {
    if (!whole_) return false;
    whole_(whole_pointers_.data(), memory_.threads, &bad_);
    error_text = error();
    return true;
  }
  bool has_whole() const override { return whole_ != nullptr; }
  const char* wait(std::size_t&) override { return nullptr; }
  bool run_timed(std::vector<double>&) override { return false; }
  bool run_row(int, double*, bool) override { return false; }
  double build_seconds() const override { return build_seconds_; }
  int built_from_cache() const override { return from_cache_; }
  int units() const override { return static_cast<int>(libraries_.size()); }

 private:
  using SingleKernelFunction = void (*)(char* const*, char*, int*);

  const char* error() {
    if (const char* text = hand_error_.exchange(nullptr, std::memory_order_relaxed)) return text;
    if (bad_ == 0) return nullptr;
    const int bad = bad_;
    bad_ = 0;
    return bad & codegen::kBadIndex ? kIndexError : kDivisionError;
  }

  // --- code ----------------------------------------------------------------------------------

  void compile(const std::map<std::string, std::string>& texts) {
    if (texts.empty()) return;
    const auto all = texts.find(std::string(program::kSingleKernel));
    const bool whole = all != texts.end();
    // Units large enough to pay for the prelude, enough of them for the cores.
    constexpr std::size_t kFunctionsPerUnit = 10;
    const std::size_t count =
        whole ? 1 : std::clamp<std::size_t>(texts.size() / kFunctionsPerUnit, 1, 16);
    std::vector<std::string> units(count, codegen::unit_header());
    for (const auto& [name, text] : texts) {
      if (name == program::kSingleKernel) continue;
      const std::size_t unit = unit_of_.size() % count;
      unit_of_.emplace(name, unit);
      units[unit] += text;
    }
    if (whole) units[0] += all->second;  // it calls the others
    codegen::CompileOptions options;
    // gcc would vectorise what is left over behind a vectorised loop too, and take twice as long.
    if (!codegen::compiler_is_clang()) options.extra_flags = "--param vect-epilogues-nomask=0";
    // Left to itself the compiler takes half of what AVX-512 has.
    if (detect_isa() >= Isa::kAvx512) options.extra_flags += " -mprefer-vector-width=512";
    if (whole) options.extra_flags += " -fno-semantic-interposition";  // so that it inlines them
    const codegen::Built built = codegen::build(units, options);
    libraries_ = built.libraries;
    build_seconds_ = built.seconds;
    from_cache_ = built.from_cache;
    if (whole) whole_ = reinterpret_cast<SingleKernelFunction>(libraries_[0].symbol(all->first));
  }

  void* symbol(const std::string& name, const std::string& more = "") const {
    return libraries_[unit_of_.at(name)].symbol(name + more);
  }

  void add_whole(const StepRun& run) {
    for (const LoopRun& loop : run.loops) {
      whole_pointers_.insert(whole_pointers_.end(), loop.pointers.begin(), loop.pointers.end());
    }
    for (const PartRun& part : run.parts) {
      whole_pointers_.insert(whole_pointers_.end(), part.loops.pointers.begin(),
                             part.loops.pointers.end());
    }
  }

  // --- binding -------------------------------------------------------------------------------

  char* pointer(program::ViewId view) const { return memory_.at(program_, view); }

  std::vector<char*> pointers(const std::vector<program::Argument>& arguments) const {
    std::vector<char*> out;
    for (const program::Argument& a : arguments) out.push_back(pointer(a.view));
    return out;
  }

  void bind_step(const std::vector<program::Call>& calls, const DimBindings& sizes, StepRun& run) {
    for (const program::Call& call : calls) {
      if (const auto* loop = std::get_if<LoopCall>(&call)) {
        run.loops.push_back(bind_loop(*loop, sizes, loop->workspace));
      } else if (const auto* product = std::get_if<ProductCall>(&call)) {
        bind_product(*product, sizes, run);
      } else {
        bind_hand(std::get<HandCall>(call), sizes, run.hand);
      }
    }
    std::vector<std::int64_t> work, pack, pack_once, finish;
    run.batches = batches_of(run.loops);
    for (const LoopBatch& b : run.batches) work.push_back(b.tasks);
    for (const LoopRun& l : run.loops) finish.push_back(l.finish_tasks);
    for (const PartRun& p : run.parts) {
      work.push_back(p.contract ? p.contract->tasks() : p.loops.tasks);
      const std::int64_t tasks = p.contract ? p.contract->pack_tasks() : 0;
      pack.push_back(p.constant ? 0 : tasks);
      pack_once.push_back(p.constant ? tasks : 0);
    }
    if (run.hand.kernel) {
      work.push_back(run.hand.kernel->tasks());
      finish.push_back(run.hand.kernel->finish_tasks());
    }
    run.work.set(work);
    run.pack.set(pack);
    run.pack_once.set(pack_once);
    run.finish.set(finish);
  }

  LoopRun bind_loop(const LoopCall& call, const DimBindings& sizes,
                    const program::Workspace& workspace) {
    LoopRun run;
    run.function = reinterpret_cast<codegen::LoopFunction>(symbol(call.function.name));
    if (!call.column_sizes.empty()) {
      run.finish = reinterpret_cast<codegen::FinishFunction>(symbol(call.function.name, "_finish"));
    }
    run.pointers = pointers(call.arguments);
    run.sizes = numbers(call.function.parameters, sizes);
    run.rows = evaluate(call.rows, sizes);
    run.finish_rows = evaluate(call.finish_rows, sizes);
    run.work = evaluate(call.work, sizes);
    run.interleaved = call.interleaved;
    run.tasks = whole_ ? 1 : loop_tasks(run.rows, run.work);
    char* columns = memory_.shared + workspace.offset;
    for (const Dim& size : call.column_sizes) {
      run.pointers.push_back(columns);
      columns += column_bytes(evaluate(size, sizes), run.tasks);
    }
    if (run.finish_rows > 0)
      run.finish_tasks = loop_tasks(run.finish_rows, run.finish_rows * run.tasks);
    return run;
  }

  void bind_product(const ProductCall& call, const DimBindings& sizes, StepRun& run) {
    for (const ProductCall::Part& p : call.parts) {
      PartRun part;
      if (!p.generated.function.name.empty()) {
        part.loops = bind_loop(p.generated, sizes, p.workspace);
        run.parts.push_back(std::move(part));
        continue;
      }
      part.contract = std::make_unique<Contract>(problem_of(loop::bind(p.contraction, sizes)),
                                                 variant_from_text(p.variant));
      part.epilogue_along_m = p.epilogue_along_m;
      part.constant = call.b_constant;
      part.a = pointer(call.a);
      part.b = pointer(call.b);
      part.c = pointer(call.c);
      part.packed = call.b_constant ? memory_.persistent + p.packed.offset
                                    : memory_.shared + p.workspace.offset;
      if (!p.epilogue.name.empty()) {
        part.epilogue = reinterpret_cast<codegen::TileFunction>(symbol(p.epilogue.name));
        part.pointers = pointers(p.arguments);
        part.sizes = numbers(p.epilogue.parameters, sizes);
      }
      run.parts.push_back(std::move(part));
    }
  }

  void bind_hand(const HandCall& call, const DimBindings& sizes, HandRun& run) {
    run.kernel = make_hand(call, sizes);
    run.shared = memory_.shared + call.workspace.offset;
    for (program::ViewId v : call.input_views) run.inputs.push_back(pointer(v));
    for (program::ViewId v : call.output_views) run.outputs.push_back(pointer(v));
  }

  // --- running -------------------------------------------------------------------------------

  char* scratch(int thread) const { return memory_.threads + thread * memory_.thread_bytes; }

  static void work_task(void* context, std::int64_t task, int thread) noexcept {
    auto* self = static_cast<CpuCode*>(context);
    StepRun& s = *self->current_;
    const std::size_t i = s.work.part_of(task);
    const std::int64_t mine = task - s.work.first[i];
    if (i < s.batches.size()) {
      return s.batches[i].run(s.loops, mine, self->scratch(thread), &self->bad_);
    }
    if (i - s.batches.size() < s.parts.size()) {
      const PartRun& p = s.parts[i - s.batches.size()];
      if (!p.contract) return p.loops.run(mine, self->scratch(thread), &self->bad_);
      return p.contract->run(mine, p.a, p.b, p.packed, p.c, p.epilogue ? PartRun::sink : nullptr,
                             &p, self->scratch(thread), p.epilogue_along_m);
    }
    const char* error = s.hand.kernel->run(mine, s.hand.inputs.data(), s.hand.outputs.data(),
                                           {self->scratch(thread), s.hand.shared});
    if (error) self->hand_error_.store(error, std::memory_order_relaxed);
  }

  void pack_part(const StepRun& s, const Tasks& tasks, std::int64_t task, int thread) noexcept {
    const std::size_t i = tasks.part_of(task);
    const PartRun& p = s.parts[i];
    p.contract->pack(task - tasks.first[i], p.a, p.b, p.packed, scratch(thread));
  }

  static void pack_task(void* context, std::int64_t task, int thread) noexcept {
    auto* self = static_cast<CpuCode*>(context);
    self->pack_part(*self->current_, self->current_->pack, task, thread);
  }

  static void pack_once_task(void* context, std::int64_t task, int thread) noexcept {
    auto* self = static_cast<CpuCode*>(context);
    self->pack_part(*self->current_, self->current_->pack_once, task, thread);
  }

  static void finish_task(void* context, std::int64_t task, int thread) noexcept {
    auto* self = static_cast<CpuCode*>(context);
    StepRun& s = *self->current_;
    const std::size_t i = s.finish.part_of(task);
    const std::int64_t mine = task - s.finish.first[i];
    if (i == s.loops.size()) {
      return s.hand.kernel->finish(mine, s.hand.inputs.data(), s.hand.outputs.data(),
                                   {self->scratch(thread), s.hand.shared});
    }
    const LoopRun& l = s.loops[i];
    l.finish(l.pointers.data(), l.sizes.data(), first_row(mine, l.finish_tasks, l.finish_rows),
             first_row(mine + 1, l.finish_tasks, l.finish_rows), l.tasks);
  }

  const program::Program& program_;
  Pool pool_;
  std::vector<codegen::Library> libraries_;
  std::map<std::string, std::size_t> unit_of_;
  SingleKernelFunction whole_ = nullptr;
  std::vector<char*> whole_pointers_;
  double build_seconds_ = 0;
  int from_cache_ = 0;
  Memory memory_;
  std::vector<StepRun> runs_;
  StepRun* current_ = nullptr;
  int bad_ = 0;
  std::atomic<const char*> hand_error_{nullptr};
};

}  // namespace

Problem problem_of(const loop::BoundContraction& c) {
  const auto axes = [](const std::vector<loop::AxisOf<std::int64_t>>& from) {
    std::vector<Axis> out;
    for (const auto& x : from) {
      out.push_back({x.extent, x.a, x.b, x.c, static_cast<std::int32_t>(x.h),
                     static_cast<std::int32_t>(x.w)});
    }
    return out;
  };
  Problem p;
  p.dtype = c.dtype;
  p.batch = axes(c.batch);
  p.m = axes(c.m);
  p.n = axes(c.n);
  p.k = axes(c.k);
  p.a0 = c.a0;
  p.b0 = c.b0;
  p.c0 = c.c0;
  p.guarded = c.guarded;
  p.h0 = c.h0;
  p.w0 = c.w0;
  p.height = c.height;
  p.width = c.width;
  return p;
}

std::unique_ptr<HandKernel> make_hand(const HandCall& call, const DimBindings& sizes) {
  const auto fixed = [&](ir::Type type) {
    for (Dim& d : type.shape) d = Dim(evaluate(d, sizes));
    return type;
  };
  std::vector<ir::Type> inputs;
  for (const ir::Type& t : call.inputs) inputs.push_back(fixed(t));
  ir::Attrs attrs = call.attrs;
  NodeView view{op_named(call.op), {}, {}, attrs, ""};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    view.inputs.push_back(call.input_views[i].valid() ? &inputs[i] : nullptr);
  }
  for (const ir::Type& t : call.outputs) view.outputs.push_back(fixed(t));
  const HandEntry* entry = find_hand(call.op);
  check(entry, "there is no hand kernel for ", call.op);
  return entry->make(view);
}

namespace {

class CpuRuntime : public Runtime {
 public:
  explicit CpuRuntime(int threads) : threads_(threads) {}
  std::unique_ptr<Space> allocate(std::int64_t bytes, const std::string& what) const override {
    return std::make_unique<Region>(bytes, what);
  }
  std::unique_ptr<Code> load(const program::Program& program) const override {
    return std::make_unique<CpuCode>(program, threads_);
  }

 private:
  int threads_;
};

}  // namespace

std::unique_ptr<Runtime> make_runtime(int threads) { return std::make_unique<CpuRuntime>(threads); }

}  // namespace plait::cpu
