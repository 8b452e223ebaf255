// Loading, binding and running a program's calls on a device.
#include "backends/cuda/code.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backends/cuda/fused.h"
#include "backends/cuda/hand/hand.h"
#include "backends/cuda/landing.h"
#include "backends/cuda/lanes.h"
#include "backends/cuda/library/library.h"
#include "backends/cuda/units.h"
#include "backends/cuda/whole.h"
#include "base/text.h"
#include "codegen/cuda/print.h"

namespace plait::cuda {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

constexpr const char* kIndexText = "an index is out of range";
constexpr const char* kDivisionText = "integer division by zero";
constexpr int kMostLanes = 4;  // within a step

Word word_of(const void* address) { return reinterpret_cast<Word>(address); }

/// A library's call with addresses fixed.
struct LibraryRun {
  std::unique_ptr<LibraryCall> call;
  LibraryOperands operands;
};

/// One thing to do: a library's call, then launches behind it.
struct Act {
  LibraryRun library;
  std::vector<Launch> launches;
};

class CudaCode : public Code {
 public:
  CudaCode(std::shared_ptr<Device> device, std::shared_ptr<const Libraries> libraries,
           std::shared_ptr<Placer> placer, const std::vector<std::vector<Call>>& steps,
           const std::vector<std::string>& texts, bool whole)
      : device_(std::move(device)),
        libraries_(std::move(libraries)),
        landing_(device_, std::move(placer)),
        steps_(steps),
        units_(*device_, steps_, texts, whole) {}
  ~CudaCode() override {
    recording_.reset();
    if (tables_) device_->release(tables_);
  }

  void bind(const DimBindings& sizes, const Memory& memory) override {
    sizes_ = sizes;
    memory_ = memory;
    recording_.reset();
    warm_ = false;
    bound_ = false;
    reserve_tables();
    landing_.reserve(memory);
    laned_ = lay_on_lanes(touched_by(memory_), lanes_wanted());
    laned_.resize(steps_.size());  // where nothing is known of them, one behind the other
    lanes_ = 1;                    // that are used: a fork costs a microsecond
    for (const LaneStep& s : laned_) lanes_ = std::max(lanes_, s.lane + 1);
    signals_.assign(steps_.size(), 0);
  }

  bool feed(int buffer, const void* from, const Laid& laid) override {
    return landing_.feed(buffer, from, laid);
  }
  std::int64_t held_bytes() const override { return tables_bytes_ + landing_.held_bytes(); }
  void constants_changed() override {}

  const char* run(std::size_t step) override {
    bind_steps();
    landing_.land();
    const std::vector<Act>& acts = acts_[step];
    const int lanes = std::min<int>(kMostLanes, static_cast<int>(acts.size()));
    if (lanes > 1) device_->fork(lanes);
    const char* error = nullptr;
    for (std::size_t i = 0; i < acts.size(); ++i) {
      if (lanes > 1) device_->lane(static_cast<int>(i % at(lanes)));
      const char* text = run(acts[i]);
      if (text) error = text;
    }
    if (lanes > 1) device_->join();
    return error;
  }

  bool run_whole(const char*& error) override {
    if (!units_.is_whole() && !device_->can_record()) return false;
    error = run_recorded(1, false);
    return true;
  }
  bool has_whole() const override { return units_.is_whole() || device_->can_record(); }

  const char* wait(std::size_t& step) override {
    device_->wait();
    if (const char* text = std::exchange(refused_, nullptr)) {
      step = refused_step_;
      return text;
    }
    device_->read(flags_.data(), tables_, static_cast<std::int64_t>(4 * flags_.size()));
    for (std::size_t i = 0; i < flags_.size(); ++i) {
      if (flags_[i] == 0) continue;
      step = i;
      const bool index = flags_[i] & codegen::cuda::kBadIndex;
      device_->zero(tables_, static_cast<std::int64_t>(4 * flags_.size()));
      return index ? kIndexText : kDivisionText;
    }
    return nullptr;
  }

  bool run_timed(std::vector<double>& seconds) override {
    bind_steps();
    landing_.land();
    device_->forget_marks();
    std::vector<int> marks{device_->mark()};
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (const char* error = run(i)) return refuse(error, i);
      marks.push_back(device_->mark());
    }
    device_->wait();
    seconds.clear();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      seconds.push_back(device_->seconds(marks[i], marks[i + 1]));
    }
    return true;
  }

  bool run_row(int runs, double* seconds, bool in_order) override {
    if (!units_.is_whole() && !device_->can_record()) return false;
    bind_steps();
    landing_.land();
    device_->forget_marks();
    const int begin = device_->mark();
    if (const char* error = run_recorded(runs, in_order)) return refuse(error, refused_step_);
    const int end = device_->mark();
    device_->wait();
    if (seconds) *seconds = device_->seconds(begin, end);
    return true;
  }

  double build_seconds() const override { return units_.seconds(); }
  int built_from_cache() const override { return units_.from_cache(); }
  int units() const override { return units_.count(); }

 private:
  // --- memory --------------------------------------------------------------------------------

  char* pointer(int buffer) const { return buffer < 0 ? nullptr : memory_.buffers[at(buffer)]; }

  /// Error bits of each step, then tables of calls that are launched together.
  void reserve_tables() {
    flags_.assign(std::max<std::size_t>(1, steps_.size()), 0);
    std::int64_t bytes = flags_bytes();
    for (const std::vector<Call>& calls : steps_) {
      for (const Call& call : calls) {
        const auto* loop = std::get_if<LoopCall>(&call);
        // A row of each of two tables, both rounded up.
        if (loop) bytes += 2 * rounded(8 * static_cast<std::int64_t>(word_count(*loop) + 1));
        const auto* product = std::get_if<ProductCall>(&call);
        if (product && is_tabled(*product)) bytes += tabled_bytes(product->parts[0]);
      }
    }
    if (bytes > tables_bytes_) {
      if (tables_) device_->release(tables_);
      tables_ = device_->allocate(bytes, "tables of calls");
      tables_bytes_ = bytes;
    }
    device_->zero(tables_, flags_bytes());
  }

  std::int64_t flags_bytes() const { return rounded(static_cast<std::int64_t>(4 * flags_.size())); }
  char* flag_of(std::size_t step) const { return tables_ + 4 * step; }

  // --- binding -------------------------------------------------------------------------------

  char* workspace(std::size_t step) const {
    const int lane = laned_[step].lane;
    return lane == 0 ? memory_.shared : memory_.side + memory_.side_bytes * (lane - 1);
  }

  /// With the first run: libraries prepare their calls while states are written.
  void bind_steps() {
    if (bound_) return;
    acts_.clear();
    first_table_ = flags_bytes();
    for (std::size_t s = 0; s < steps_.size(); ++s) acts_.push_back(bind_step(s, sizes_));
    if (units_.is_whole()) bind_whole(sizes_);
    if (libraries_) libraries_->expect_no_more();
    bound_ = true;
  }

  std::vector<Act> bind_step(std::size_t step, const DimBindings& sizes) {
    std::vector<Act> acts;
    std::map<std::string, std::vector<const LoopCall*>> same;  // loops by function
    std::vector<const ProductCall*> tabled;
    std::int64_t shared = 0;
    for (const Call& call : steps_[step]) {
      if (const auto* loop = std::get_if<LoopCall>(&call)) {
        same[loop->function.name].push_back(loop);
      } else if (const auto* product = std::get_if<ProductCall>(&call)) {
        if (is_tabled(*product)) {
          tabled.push_back(product);
        } else {
          bind_product(*product, step, sizes, shared, acts);
        }
      } else {
        acts.push_back(bind_hand(std::get<HandCall>(call), step, sizes, shared));
      }
    }
    if (!tabled.empty()) acts.push_back(bind_tabled(tabled, step, sizes, shared));
    for (const auto& [name, calls] : same) {
      std::vector<std::vector<Launch>> each;
      for (const LoopCall* call : calls) each.push_back(bind_loop(*call, step, sizes, shared));
      if (each.size() > 1 && units_.takes_many(name)) {
        acts.push_back(together(name, each));
      } else {
        for (std::vector<Launch>& launches : each) acts.push_back({{}, std::move(launches)});
      }
    }
    const std::int64_t room = laned_[step].lane == 0 ? memory_.shared_bytes : memory_.side_bytes;
    check(shared <= room, "step ", step, " wants ", shared, " bytes of workspace, planned were ",
          room);
    return acts;
  }

  /// One launch, or two where columns are reduced.
  std::vector<Launch> bind_loop(const LoopCall& call, std::size_t step, const DimBindings& sizes,
                                std::int64_t& shared) {
    Launch launch;
    launch.function = units_.function(call.function.name);
    launch.blocks = evaluate(call.rows, sizes);
    launch.threads = call.threads;
    launch.block_bytes = call.block_bytes;
    launch.maps = call.maps;
    for (int b : call.buffers) launch.words.push_back(word_of(pointer(b)));
    for (const Dim& size : call.column_sizes) {
      launch.words.push_back(word_of(workspace(step) + shared));
      shared += rounded(8 * evaluate(size, sizes));
    }
    launch.words.push_back(word_of(flag_of(step)));
    for (const Dim& d : call.function.parameters) {
      launch.words.push_back(static_cast<Word>(evaluate(d, sizes)));
    }
    std::vector<Launch> out{launch};
    if (!call.finish_rows.is(0)) {
      launch.function = units_.function(call.function.name, "_finish");
      launch.blocks = evaluate(call.finish_rows, sizes);
      launch.threads = codegen::cuda::kThreads;
      launch.block_bytes = finish_bytes(call);
      out.push_back(launch);
    }
    return out;
  }

  /// Calls of one function: a table of their words, and the first block of each.
  Act together(const std::string& name, const std::vector<std::vector<Launch>>& each) {
    Act act;
    for (std::size_t stage = 0; stage < each[0].size(); ++stage) {
      std::vector<Word> table, firsts;
      Launch launch = each[0][stage];
      launch.function = units_.function(name, stage == 0 ? "_many" : "_finish_many");
      launch.blocks = 0;
      for (const std::vector<Launch>& one : each) {
        table.insert(table.end(), one[stage].words.begin(), one[stage].words.end());
        firsts.push_back(static_cast<Word>(launch.blocks));
        launch.blocks += one[stage].blocks;
      }
      char* const place = tables_ + first_table_;
      const auto bytes = static_cast<std::int64_t>(8 * table.size());
      device_->write(place, table.data(), bytes);
      device_->write(place + bytes, firsts.data(), static_cast<std::int64_t>(8 * firsts.size()));
      first_table_ += rounded(bytes + static_cast<std::int64_t>(8 * firsts.size()));
      launch.words = {word_of(place), word_of(place + bytes), static_cast<Word>(each.size())};
      act.launches.push_back(std::move(launch));
    }
    return act;
  }

  void bind_product(const ProductCall& call, std::size_t step, const DimBindings& sizes,
                    std::int64_t& shared, std::vector<Act>& acts) {
    for (const ProductCall::Part& p : call.parts) {
      if (!p.generated.function.name.empty()) {
        acts.push_back({{}, bind_loop(p.generated, step, sizes, shared)});
        continue;
      }
      acts.push_back(bind_library(call, p, step, sizes, shared));
    }
  }

  static bool is_tabled(const ProductCall& call) {
    return call.parts.size() == 1 && call.parts[0].generated.table;
  }
  /// A row of its product's table, and of both tables of what follows.
  static std::int64_t tabled_bytes(const ProductCall::Part& p) {
    const std::size_t maps = 16 * at(p.generated.maps) + 8;
    const std::size_t behind = p.buffers.size() + p.epilogue.parameters.size() + 2;
    return rounded(8 * static_cast<std::int64_t>(maps + word_count(p.generated))) +
           2 * rounded(8 * static_cast<std::int64_t>(behind));
  }

  /// Products of one shape by a table of their maps and words, then what follows all of them.
  Act bind_tabled(const std::vector<const ProductCall*>& calls, std::size_t step,
                  const DimBindings& sizes, std::int64_t& shared) {
    constexpr std::size_t kResult = 2;  // the word of a bare product's result
    std::vector<Word> table;
    std::vector<std::vector<Launch>> behind;
    Launch launch;
    for (const ProductCall* call : calls) {
      const ProductCall::Part& p = call->parts[0];
      char* const product = workspace(step) + shared;
      shared += result_bytes(loop::bind(p.contraction, sizes), p.contraction.dtype);
      launch = bind_loop(p.generated, step, sizes, shared)[0];
      launch.words[kResult] = word_of(product);
      const std::vector<Word> row = device_->mapped(launch);
      table.insert(table.end(), row.begin(), row.end());
      behind.push_back({bind_epilogue(p, product, step, sizes)});
    }
    char* const place = tables_ + first_table_;
    const auto bytes = static_cast<std::int64_t>(8 * table.size());
    device_->write(place, table.data(), bytes);
    first_table_ += rounded(bytes);
    const auto count = static_cast<std::int64_t>(calls.size());
    launch.blocks =
        std::min<std::int64_t>(launch.blocks * count, device_->multiprocessors() / 2 * 2);
    launch.words = {word_of(place), static_cast<Word>(count), table.size() / calls.size()};
    launch.maps = 0;
    Act act{{}, {launch}};
    const std::string& name = calls[0]->parts[0].epilogue.name;
    if (count > 1 && units_.takes_many(name)) {
      for (Launch& l : together(name, behind).launches) act.launches.push_back(std::move(l));
    } else {
      for (std::vector<Launch>& l : behind) act.launches.push_back(std::move(l[0]));
    }
    return act;
  }

  Act bind_library(const ProductCall& call, const ProductCall::Part& p, std::size_t step,
                   const DimBindings& sizes, std::int64_t& shared) {
    const loop::BoundContraction bound = loop::bind(p.contraction, sizes);
    const LibraryVariant variant = library_variant(p.variant);
    const std::optional<Fused>& fused = variant.fused;
    const DType result = variant.apart.value_or(bound.dtype);
    Act act;
    std::string why;
    // The same algorithm as was planned with; sizes that are not the largest may want another.
    for (const std::string& id : {variant.id, std::string()}) {
      act.library.call = libraries_->make(bound, result, epilogue_of(fused), id, true, why);
      if (act.library.call) break;
    }
    check(act.library.call != nullptr, "a library took a contraction and now does not: ", why);
    LibraryOperands& o = act.library.operands;
    o.a = pointer(call.a);
    o.b = pointer(call.b);
    char* const apart = workspace(step) + shared;
    o.c = fused ? pointer(p.buffers[at(fused->result)]) : variant.apart ? apart : pointer(call.c);
    if (fused && fused->bias >= 0) o.bias = pointer(p.buffers[at(fused->bias)]);
    if (fused && fused->residual >= 0) o.residual = pointer(p.buffers[at(fused->residual)]);
    if (variant.apart) shared += result_bytes(bound, result);
    o.workspace = workspace(step) + shared;
    shared += rounded(act.library.call->workspace_bytes());
    if (variant.apart) act.launches.push_back(bind_epilogue(p, apart, step, sizes));
    return act;
  }

  Launch bind_epilogue(const ProductCall::Part& p, char* product, std::size_t step,
                       const DimBindings& sizes) {
    Launch launch;
    launch.function = units_.function(p.epilogue.name);
    launch.blocks = evaluate(p.epilogue_rows, sizes);
    launch.threads = codegen::cuda::kThreads;
    for (int b : p.buffers) launch.words.push_back(word_of(b < 0 ? product : pointer(b)));
    launch.words.push_back(word_of(flag_of(step)));
    for (const Dim& d : p.epilogue.parameters) {
      launch.words.push_back(static_cast<Word>(evaluate(d, sizes)));
    }
    return launch;
  }

  Act bind_hand(const HandCall& call, std::size_t step, const DimBindings& sizes,
                std::int64_t& shared) {
    const HandPlan plan = find_hand(call.op)->plan(call, sizes);
    const Module& module = units_.hand(call);
    Act act;
    for (const HandLaunch& l : plan.launches) {
      Launch launch;
      launch.function = module.function(l.function);
      launch.blocks = l.blocks;
      launch.threads = l.threads;
      launch.block_bytes = l.block_bytes;
      for (const HandWord& w : l.words) {
        launch.words.push_back(hand_word(w, call, step, workspace(step) + shared));
      }
      act.launches.push_back(std::move(launch));
    }
    shared += rounded(plan.scratch_bytes);
    return act;
  }

  Word hand_word(const HandWord& w, const HandCall& call, std::size_t step, char* scratch) const {
    switch (w.kind) {
      case HandWord::kInput:
        return word_of(pointer(call.input_buffers[at(w.value)]));
      case HandWord::kOutput:
        return word_of(pointer(call.output_buffers[at(w.value)]));
      case HandWord::kScratch:
        return word_of(scratch + w.value);
      case HandWord::kBad:
        return word_of(flag_of(step));
      case HandWord::kNumber:
        break;
    }
    return static_cast<Word>(w.value);
  }

  void bind_whole(const DimBindings& sizes) {
    std::vector<Launch> calls;
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      std::int64_t shared = 0;
      each_generated(steps_[step], [&](const LoopCall& call) {
        calls.push_back(bind_loop(call, step, sizes, shared)[0]);
      });
    }
    whole_launch_ = whole_launch(steps_, calls, memory_, device_->most_block_bytes());
    whole_launch_.function = units_.whole_function();
  }

  // --- running -------------------------------------------------------------------------------

  const char* run(const Act& act) {
    const LibraryRun& l = act.library;
    if (l.call) {
      const char* error = l.call->run(device_->stream(), l.operands);
      if (error) return error;
    }
    for (const Launch& launch : act.launches) {
      if (launch.blocks > 0) device_->launch(launch);
    }
    return nullptr;
  }

  /// `runs` runs as one launch or replay; the first ever is neither.
  const char* run_recorded(int runs, bool in_order) {
    bind_steps();
    landing_.land();
    if (units_.is_whole()) {
      whole_launch_.words[0] = static_cast<Word>(runs);
      device_->launch(whole_launch_);
      return nullptr;
    }
    if (!warm_) {  // libraries load their kernels with their first call, not while recording
      warm_ = true;
      return run_all(in_order);
    }
    if (!recording_ || recorded_runs_ != runs || recorded_in_order_ != in_order) {
      recording_.reset();
      device_->begin_recording();
      const char* error = nullptr;
      for (int i = 0; i < runs && !error; ++i) error = run_all(in_order);
      recording_ = device_->end_recording();
      recorded_runs_ = runs;
      recorded_in_order_ = in_order;
      if (error) {
        recording_.reset();
        return error;
      }
    }
    device_->replay(*recording_);
    return nullptr;
  }

  const char* run_all(bool in_order) {
    const int lanes = in_order ? 1 : lanes_;
    const char* error = nullptr;
    if (lanes > 1) device_->fork(lanes);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const char* text = lanes > 1 ? run_on_lane(i) : run(i);
      if (!text || error) continue;
      error = text;
      refused_step_ = i;
    }
    if (lanes > 1) device_->join();
    return error;
  }

  const char* run_on_lane(std::size_t step) {
    const LaneStep& laned = laned_[step];
    device_->lane(laned.lane);
    for (const std::size_t other : laned.awaits) device_->await(signals_[other]);
    const char* error = nullptr;
    for (const Act& act : acts_[step]) {
      const char* text = run(act);
      if (text) error = text;
    }
    if (laned.awaited) signals_[step] = device_->signal();
    return error;
  }

  /// What a library said to a call, for wait() to tell.
  bool refuse(const char* error, std::size_t step) {
    refused_ = error;
    refused_step_ = step;
    return true;
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<const Libraries> libraries_;
  Landing landing_;
  std::vector<std::vector<Call>> steps_;
  const Units units_;
  bool warm_ = false, bound_ = false;
  int lanes_ = 1;
  DimBindings sizes_;
  Memory memory_;
  char* tables_ = nullptr;
  std::int64_t tables_bytes_ = 0, first_table_ = 0;
  std::vector<int> flags_;  // error bits by step, read back
  const char* refused_ = nullptr;
  std::size_t refused_step_ = 0;
  std::vector<std::vector<Act>> acts_;
  std::vector<LaneStep> laned_;
  std::vector<int> signals_;  // by step, of those that are awaited
  Launch whole_launch_;       // its first word: how many runs
  std::unique_ptr<Recording> recording_;
  int recorded_runs_ = 0;
  bool recorded_in_order_ = false;
};

}  // namespace

std::int64_t result_bytes(const loop::BoundContraction& c, DType dtype) {
  std::int64_t last = c.c0;
  for (const auto* axes : {&c.batch, &c.m, &c.n}) {
    for (const auto& x : *axes) last += std::max<std::int64_t>(0, (x.extent - 1) * x.c);
  }
  return rounded((last + 1) * static_cast<std::int64_t>(size_of(dtype)));
}

std::unique_ptr<Code> load_code(std::shared_ptr<Device> device,
                                std::shared_ptr<const Libraries> libraries,
                                std::shared_ptr<Placer> placer,
                                const std::vector<std::vector<Call>>& steps,
                                const std::vector<std::string>& texts, bool whole) {
  if (libraries) expect_libraries(*libraries, steps);
  return std::make_unique<CudaCode>(std::move(device), std::move(libraries), std::move(placer),
                                    steps, texts, whole);
}

}  // namespace plait::cuda
