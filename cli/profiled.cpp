// Timing the steps of a program.
#include "cli/profiled.h"

#include <algorithm>
#include <map>
#include <optional>

#include "backends/cpu/contract/contract.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/buffers.h"
#include "cli/device.h"
#include "cli/output.h"
#include "cli/timing.h"
#include "program/simulate.h"

namespace plait::cli {
namespace {

constexpr int kWarmUps = 3, kLeastRuns = 5, kMostRuns = 1000;

struct Word {
  std::string_view kind, type;
};
constexpr Word kWords[] = {
    {"conv2d", "ConvolutionForward"},
    {"conv2d_input_grad", "ConvolutionBackwardData"},
    {"conv_transpose2d", "ConvolutionBackwardData"},
    {"conv2d_weight_grad", "ConvolutionBackwardFilter"},
    {"matmul", "MatrixMul"},
    {"linear", "MatrixMul"},
    {"einsum", "MatrixMul"},
    {"pointwise", "Elemwise"},
    {"copy", "Elemwise"},
    {"row", "Reduce"},
    {"column", "Reduce"},
};

std::int64_t nanoseconds(Clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

/// How a step computes, as the device's rates are named: products in their dtype, all else in f32.
std::string precision_of(const program::Step& step, const Target& target,
                         const DeviceModel& device) {
  for (const program::Call& call : step.calls) {
    const auto* product = std::get_if<ProductCall>(&call);
    if (!product || product->parts.empty()) continue;
    const DType dtype = product->parts[0].contraction.dtype;
    const std::string name =
        dtype == DType::f32 ? target.f32_products() : std::string(name_of(dtype));
    if (device.operations_per_second.count(name)) return name;
  }
  return "f32";
}

profile::StepInfo info_of(const program::Step& step, const program::Program& p,
                          const DimBindings& sizes) {
  profile::StepInfo info;
  info.name = "%" + step.name;
  info.type = type_of(step);
  info.kernel = step.kernel;
  info.path = step.path;
  info.predicted_seconds = step.seconds + (p.single_kernel ? 0 : p.device.step_seconds);
  info.bound = step.bound;
  info.operations = evaluate(step.operations, sizes);
  info.bytes_read = evaluate(step.bytes_read, sizes);
  info.bytes_written = evaluate(step.bytes_written, sizes);
  info.scratch_bytes = step.shared_bytes + step.thread_bytes * p.threads;
  const program::Uses uses = program::uses_of(step);
  info.inputs = buffers_of(p, uses.reads);
  info.outputs = buffers_of(p, uses.writes);
  info.nodes = step.nodes;
  return info;
}

profile::BufferInfo info_of(const program::Buffer& buffer, const BufferLife& life, int steps,
                            const DimBindings& sizes) {
  profile::BufferInfo info;
  info.name = buffer.name;
  info.dtype = name_of(life.view ? life.view->type.dtype : DType::u8);
  if (life.view) {
    for (const Dim& d : life.view->type.shape) info.shape.push_back(evaluate(d, sizes));
  } else {
    info.shape = {buffer.bytes};
  }
  info.bytes = buffer.bytes;
  info.is_state = buffer.region != program::Region::kArena;
  info.offset = info.is_state ? -1 : buffer.offset;
  info.first = life.fed ? -1 : life.first;
  info.last = life.fetched ? steps : life.last;
  return info;
}

/// `batch=64`: what times are predicted at, where these sizes are others.
std::string predicted_at(const program::Program& p, const DimBindings& sizes) {
  std::vector<std::string> largest;
  bool are_others = false;
  for (const auto& [name, symbol] : p.symbols) {
    largest.push_back(str(name, "=", symbol.hi()));
    are_others = are_others || evaluate(symbol, sizes) != symbol.hi();
  }
  return are_others ? join(largest, ", ") : "";
}

profile::Profile describe_program(const Loaded& loaded) {
  const program::Program& p = loaded.executor.program();
  const DimBindings& sizes = loaded.executor.sizes();
  profile::Profile out;
  out.graph = p.graph_name;
  out.backend = p.backend;
  out.machine = machine_name();
  out.threads = p.threads;
  out.predicted_ms = program::predicted_seconds(p) * 1e3;
  out.predicted_at = predicted_at(p, sizes);
  out.arena_bytes = p.arena_bytes;
  out.states_bytes = p.states_bytes;
  out.scratch_bytes = p.scratch_bytes;
  for (const program::Step& step : p.steps) {
    profile::StepInfo& info = out.steps.emplace_back(info_of(step, p, sizes));
    if (!out.predicted_at.empty()) info.predicted_seconds = 0;
  }
  const std::vector<BufferLife> lives = buffer_lives(p);
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    out.buffers.push_back(info_of(p.buffers[b], lives[b], static_cast<int>(p.steps.size()), sizes));
  }
  return out;
}

/// One run with a clock round every step; `run` has room for all of them.
void timed_run(Executor& executor, profile::Run& run) {
  run.whole.begin_ns = nanoseconds(Clock::now());
  std::vector<double> seconds;
  if (executor.run_timed(seconds)) {  // by the device's clock, one step behind the other
    double at = static_cast<double>(run.whole.begin_ns);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      run.steps[i].begin_ns = static_cast<std::int64_t>(at);
      at += seconds[i] * 1e9;
      run.steps[i].end_ns = static_cast<std::int64_t>(at);
    }
    run.whole.end_ns = static_cast<std::int64_t>(at);
    return;
  }
  executor.run_steps([&](std::size_t i) { run.steps[i].begin_ns = nanoseconds(Clock::now()); },
                     [&](std::size_t i) { run.steps[i].end_ns = nanoseconds(Clock::now()); });
  run.whole.end_ns = nanoseconds(Clock::now());
}

/// By the device's clock, all steps as one launch, one behind the other or as they usually run; 0
/// where there is none.
double launch_seconds(Loaded& loaded, bool in_order) {
  double seconds = 0;
  loaded.refresh();
  return loaded.executor.run_row(1, seconds, in_order) ? seconds : 0;
}

/// The median of a few, once it is decided how they run; the recording apart.
double usual_ms(Loaded& loaded) {
  do {
    launch_seconds(loaded, false);
  } while (!loaded.executor.is_settled());
  std::vector<double> ms;
  for (int i = 0; i < kLeastRuns; ++i) ms.push_back(launch_seconds(loaded, false) * 1e3);
  return median(std::move(ms));
}

double plain_seconds(Executor& executor) {
  const Clock::time_point start = Clock::now();
  executor.run_steps([](std::size_t) {}, [](std::size_t) {});
  executor.wait();
  return seconds_since(start);
}

/// What multiplies in a kernel of the cpu, and which dtype: the id of a product's kernel begins
/// with "gemm.UNIT.DTYPE.".
struct UnitOf {
  std::string unit, dtype;
};
UnitOf unit_of(const std::string& kernel) {
  const std::vector<std::string> words = split(kernel, '.');
  return words.size() < 3 || words[0] != "gemm" ? UnitOf{} : UnitOf{words[1], words[2]};
}

/// The rate of most operations stands for the program.
void choose_peak(profile::Profile& out) {
  std::map<std::string, std::int64_t> operations;
  for (const profile::StepInfo& step : out.steps) operations[step.precision] += step.operations;
  std::int64_t most = -1;
  for (const auto& [name, count] : operations) {
    if (count <= most) continue;
    most = count;
    out.peak_gflops = out.rates[name];
  }
}

/// How many products of bf16 a unit for those takes for one of the dtype; 0: it is no such unit's.
int products_of(const UnitOf& kernel) {
  const std::optional<DType> dtype = dtype_named(kernel.dtype);
  if (kernel.unit == "amx" && dtype) return cpu::tile_products(*dtype);
  return dtype == DType::bf16 ? 1 : 0;
}

/// The processor's: of f32, and of what a step's kernel multiplies on a unit for halves.
void add_processor_peaks(const Target& target, profile::Profile& out) {
  const DeviceModel device = measured_processor();
  const double cores = std::min(target.threads(), device.processors);
  const double part = cores / device.processors;
  const double gflops = device.operations("f32") * part * 1e-9;
  out.peak_gflops = gflops;
  out.peak_gbs =
      std::min(device.bytes_per_second, device.processor_bytes_per_second * cores) * 1e-9;
  for (profile::StepInfo& step : out.steps) {
    const UnitOf kernel = unit_of(step.kernel);
    const int products = products_of(kernel);
    if (products == 0) continue;
    const auto unit = device.operations_per_second.find(kernel.unit);
    if (unit == device.operations_per_second.end()) continue;
    step.precision = kernel.dtype == "f32" ? "f32 on amx" : kernel.dtype;
    out.rates[step.precision] = unit->second * part * 1e-9 / products;
  }
  if (out.rates.empty()) return;
  out.rates["f32"] = gflops;
  for (profile::StepInfo& step : out.steps) {
    if (step.precision.empty()) step.precision = "f32";
  }
  choose_peak(out);
}

/// Peaks of the machine, or of the target's device with its name; every step's precision.
void add_peaks(const Loaded& loaded, profile::Profile& out) {
  const std::optional<DeviceModel> device = loaded.target->measured();
  if (!device) return add_processor_peaks(*loaded.target, out);
  out.machine = out.device = device->name;
  out.peak_gbs = device->bytes_per_second * 1e-9;
  for (const auto& [name, rate] : device->operations_per_second) out.rates[name] = rate * 1e-9;
  for (std::size_t s = 0; s < out.steps.size(); ++s) {
    out.steps[s].precision =
        precision_of(loaded.executor.program().steps[s], *loaded.target, *device);
  }
  choose_peak(out);
}

}  // namespace

std::string type_of(const program::Step& step) {
  for (const Word& word : kWords) {
    if (word.kind == step.kind) return std::string(word.type);
  }
  return step.kind;
}

profile::Profile profiled(Loaded& loaded, const ProfileRequest& request) {
  profile::Profile out = describe_program(loaded);
  add_peaks(loaded, out);
  Executor& executor = loaded.executor;
  for (int i = 0; i < kWarmUps; ++i) {
    loaded.refresh();
    plain_seconds(executor);
    launch_seconds(loaded, true);
  }
  const Clock::time_point start = Clock::now();
  Countdown countdown("profile");
  std::vector<double> ratios, launches, apart;
  for (std::int64_t run = 0;; ++run) {
    const double used = seconds_since(start);
    const bool enough = request.runs > 0
                            ? run >= request.runs
                            : run >= kMostRuns || (run >= kLeastRuns && used >= request.seconds);
    if (enough) break;
    const double of_runs = static_cast<double>(run) /
                           static_cast<double>(request.runs > 0 ? request.runs : kLeastRuns);
    countdown.tick(run, request.runs > 0 ? of_runs : std::min(of_runs, used / request.seconds));
    profile::Run& timed = out.runs.emplace_back();
    timed.steps.resize(out.steps.size());
    // Each goes first as often as the other.
    double plain = 0;
    for (int turn = 0; turn < 2; ++turn) {
      loaded.refresh();
      if ((turn == 0) == (run % 2 == 0)) {
        timed_run(executor, timed);
      } else {
        plain = plain_seconds(executor);
      }
    }
    const auto ns = static_cast<double>(timed.whole.end_ns - timed.whole.begin_ns);
    if (plain > 0) ratios.push_back(ns * 1e-9 / plain);
    launches.push_back(launch_seconds(loaded, true) * 1e3);
    apart.push_back(ns * 1e-6);
  }
  out.overhead_percent = ratios.empty() ? 0 : 100 * (median(std::move(ratios)) - 1);
  out.launch_ms = median(std::move(launches));
  if (out.launch_ms > 0) {
    out.apart_ms = median(std::move(apart));
    out.usual_ms = usual_ms(loaded);
  }
  // A program that is one kernel runs other code than its steps do.
  if (!executor.program().single_kernel) take_off_clocks(out);
  return out;
}

}  // namespace plait::cli
