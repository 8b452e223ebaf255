// A profile: what a program's steps are, when each of them ran, and the files and tables that this
// becomes. Whoever runs the program fills it in; nothing here runs a step.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plait::profile {

/// Known before the run; one per step of the program, in launch order.
struct StepInfo {
  std::string name;    // of the step's main node: `%conv2d3`
  std::string type;    // for grouping, in MegEngine's words: `Convolution`, `Elemwise`, `Reduce`
  std::string kernel;  // `gemm.avx2.f32.6x16`
  std::string path;    // of the module
  std::string precision{};  // of Profile::rates, in which it computes; empty: peak_gflops counts
  std::int64_t operations = 0, bytes_read = 0, bytes_written = 0, scratch_bytes = 0;
  double predicted_seconds = 0;      // 0: nobody did
  std::string bound{};               // what the prediction is bound by
  std::vector<int> inputs, outputs;  // indices into Profile::buffers
  std::vector<std::string> nodes;    // of the graph, inside this step
};

/// A value in memory. `first` and `last` are the first and last step that need it alive: a fed
/// value's first may be -1, a fetched value's last the number of steps.
struct BufferInfo {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;
  std::int64_t offset = -1;  // in the arena; -1: not in it
  int first = 0, last = 0;
  bool is_state = false;  // kept from run to run: a weight, a constant
};

/// On one steady clock.
struct Span {
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// One timed run. `threads[t][s]`, where measured, is when thread t worked on step s; an empty span
/// where it did not.
struct Run {
  std::vector<Span> steps;
  Span whole;
  std::vector<std::vector<Span>> threads;
};

struct Profile {
  std::string graph, backend, machine;
  std::string device{};  // that has a clock of its own, as its maker calls it; empty: the processor
  std::vector<StepInfo> steps;
  std::vector<BufferInfo> buffers;
  std::vector<Run> runs;
  double peak_gflops = 0, peak_gbs = 0;   // measured on this machine; 0: not measured
  std::map<std::string, double> rates{};  // GFLOP/s of products by precision, where they differ
  int threads = 1;
  std::int64_t arena_bytes = 0, states_bytes = 0, scratch_bytes = 0;
  double predicted_ms = 0;      // of a run; 0: nobody did
  std::string predicted_at{};   // `batch=64`, where other sizes ran: there is nothing to compare
  double overhead_percent = 0;  // that timing the steps adds to a run
  // Of a device: a run as one launch, the steps as its clock was read behind each of them, and what
  // was taken off each step for that, so that they add up to one launch. 0: not measured, nothing.
  double launch_ms = 0, apart_ms = 0, taken_us = 0;
  double usual_ms = 0;  // a launch as a run has it: steps beside each other where that is faster
};

/// Takes the same time off each step of every run, though no more than four fifths of it, so that
/// the steps' medians add up to launch_ms: what reading a device's clock behind each step adds. The
/// steps then follow each other without a gap. Nothing changes where they take less than launch_ms.
void take_off_clocks(Profile& profile);

/// A kernel's id as tables have it: of a long one the beginning, then a number made from all of it.
std::string short_id(const std::string& id);

/// In MegEngine's schema (io/megengine reads it, `plait report` reports on it); every footprint
/// also says `kernel`, `gflops`, `gbs`, `share_of_peak`. Times are the run's of median length.
std::string to_megengine(const Profile& profile);

/// Chrome's trace events (Perfetto opens them): a complete event per run, step, and thread's part
/// of a step, and a counter of live bytes. Runs beyond 50,000 events are left out.
std::string to_trace(const Profile& profile);

/// A line of a table. `share` is of the time of all steps; `share_of_peak` what its steps would
/// take at the measured peaks, each at the nearer of the two, of what they take (0 without peaks;
/// above 1 where a step's bytes stay in the caches). By step, `kind` is its name.
struct Row {
  std::string kind;
  int launches = 0;
  double ms = 0, share = 0, gflops = 0, gbs = 0, share_of_peak = 0;
  std::int64_t operations = 0, bytes = 0;
  double peak_ms = 0;  // at the measured peaks
  std::string kernel;  // of a step
  double predicted_ms = 0;
  std::string bound;  // of a step
};

/// Medians over the runs, longest first.
std::vector<Row> by_kind(const Profile& profile);
std::vector<Row> by_step(const Profile& profile, int most);

/// The steps whose prediction is farthest off, in time, the farthest first. None where the
/// prediction is of other sizes.
std::vector<Row> by_error(const Profile& profile, int most);
/// By how much the prediction is above the run's median; 0 without one, or of other sizes.
double error_percent(const Profile& profile);

/// The median run against the measured peaks, then the kinds, then the slowest steps, then those
/// whose prediction is farthest off.
std::string table_text(const Profile& profile);

/// GFLOP/s of f32 multiply-adds in registers; GB/s (read plus written) of a copy far larger than
/// any cache.
struct Peaks {
  double gflops = 0, gbs = 0;
};

/// Takes about 0.3 s; the caller keeps the result, it belongs to the machine.
Peaks measure_peaks(int threads);

/// GFLOP/s of products of bf16 in registers, by the unit that has them: "avx512bf16" or "amx"; 0
/// where the processor has no such unit.
double measure_dot_gflops(std::string_view unit, int threads);

/// Bytes of cache that so many threads have: each its own second level, and the last one.
std::int64_t cache_bytes(int threads);
/// GB/s (read plus written) of copies that stay in the last level of cache.
double measure_cache_gbs(int threads);

}  // namespace plait::profile
