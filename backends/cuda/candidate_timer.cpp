// Trials on the device.
#include "backends/cuda/candidate_timer.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/code.h"
#include "backends/cuda/sources.h"
#include "base/at.h"
#include "codegen/cuda/print.h"

namespace plait::cuda {
namespace {

// Runs in a row, fewer of long ones; rows, and single runs of a glance.
constexpr int kRow = 10, kTries = 4, kGlances = 3;
constexpr double kRowSeconds = 10e-3;

// What is smaller is in the cache when its turn comes in a real run, too. A sweep reads several
// times what the cache holds.
constexpr std::int64_t kResident = 8 << 20, kSwept = 128 << 20;

using Axis = loop::AxisOf<std::int64_t>;

/// Elements that an operand's axes span.
std::int64_t span(const loop::BoundContraction& c, std::int64_t Axis::*step, std::int64_t origin) {
  std::int64_t last = std::max<std::int64_t>(0, origin);
  for (const auto* axes : {&c.batch, &c.m, &c.n, &c.k}) {
    for (const Axis& x : *axes) last += std::max<std::int64_t>(0, (x.extent - 1) * (x.*step));
  }
  return last + 1;
}

/// Elements of each buffer that a kernel's accesses reach.
std::vector<std::int64_t> reach(const loop::Kernel& k) {
  std::vector<std::int64_t> out(k.buffers.size(), 1);
  const auto touch = [&](int buffer, const Dim& offset) {
    out[at(buffer)] = std::max(out[at(buffer)], offset.hi() + 1);
  };
  for (const loop::Let& let : k.lets) {
    for (const loop::KernelOperand& o : let.operands) {
      if (o.kind == loop::KernelOperand::kLoad) touch(o.load.buffer, o.load.offset);
    }
  }
  for (const loop::KernelStore& s : k.stores) touch(s.buffer, s.offset);
  return out;
}

}  // namespace

loop::Kernel kernel_behind(const loop::Kernel& epilogue, DType product) {
  loop::Kernel k = epilogue;
  const loop::KernelLoad place{static_cast<int>(k.buffers.size()), k.stores.at(0).offset};
  k.buffers.push_back({product, false});
  for (loop::Let& let : k.lets) {
    for (loop::KernelOperand& o : let.operands) {
      if (o.kind != loop::KernelOperand::kTile) continue;
      o.kind = loop::KernelOperand::kLoad;
      o.load = place;
    }
  }
  k.rows.insert(k.rows.end(), k.inner.begin(), k.inner.end());
  const auto step = [&](const loop::KernelIndex& x) {
    return loop::coefficient_of(place.offset, x.symbol).coefficient.hi();
  };
  std::stable_sort(k.rows.begin(), k.rows.end(),
                   [&](const auto& x, const auto& y) { return step(x) > step(y); });
  k.inner = {k.rows.back()};
  k.rows.pop_back();
  k.epilogue = false;
  k.batch_rows = 0;
  loop::collapse(k);
  return k;
}

CandidateTimer::CandidateTimer(Device& device, const loop::BoundContraction& c,
                               const loop::Kernel* epilogue, const DimBindings& sizes,
                               Caches caches)
    : device_(device), sizes_(sizes) {
  try {
    take_buffers(c, epilogue);
    if (caches == kCold && taken_ > kResident && device_.can_record()) make_sweep();
  } catch (...) {
    give_back();
    throw;
  }
}

void CandidateTimer::take_buffers(const loop::BoundContraction& c, const loop::Kernel* epilogue) {
  const auto width = static_cast<std::int64_t>(size_of(c.dtype));
  a_ = take(width * span(c, &Axis::a, c.a0), true);
  b_ = take(width * span(c, &Axis::b, c.b0), true);
  c_ = take(std::max<std::int64_t>(4, width) * span(c, &Axis::c, c.c0), false);
  flag_ = take(256, false);
  device_.zero(flag_, 256);
  if (epilogue) {
    const std::vector<std::int64_t> elements = reach(*epilogue);
    for (std::size_t b = 0; b < elements.size(); ++b) {
      const auto bytes = static_cast<std::int64_t>(size_of(epilogue->buffers[b].dtype));
      buffers_.push_back(take(bytes * elements[b], !epilogue->buffers[b].written));
    }
  }
}

void CandidateTimer::make_sweep() {
  sweeper_ = device_.compile({codegen::cuda::unit_header() + std::string(codegen::cuda_sweep())})
                 .modules[0];
  char* const data = take(kSwept, false);
  device_.zero(data, kSwept);
  sweep_.function = sweeper_->function("k_sweep");
  sweep_.dependent = true;
  sweep_.blocks = 8 * device_.multiprocessors();
  sweep_.threads = 256;
  sweep_.words = {reinterpret_cast<Word>(data), static_cast<Word>(kSwept / 8)};
  sweep_seconds_ = row_seconds([&] { device_.launch(sweep_); });
}

CandidateTimer::~CandidateTimer() { give_back(); }

void CandidateTimer::give_back() {
  for (char* data : owned_) device_.release(data);
  owned_.clear();
}

char* CandidateTimer::take(std::int64_t bytes, bool random) {
  char* data = device_.allocate(bytes + 256, "trying a contraction");
  owned_.push_back(data);
  taken_ += bytes;
  if (!random) return data;
  // Halves and floats of moderate size whichever way they are read: 0x3c.. and 0x3d.. bytes.
  constexpr std::int64_t kPattern = 1 << 20;
  static const std::vector<unsigned char> pattern = [] {
    std::vector<unsigned char> bytes(at(kPattern));
    std::uint32_t state = 12345;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      state = state * 1664525u + 1013904223u;
      const unsigned char draw = static_cast<unsigned char>(state >> 24);
      bytes[i] = i % 2 == 1 ? static_cast<unsigned char>(0x38 | (draw & 0x83)) : draw;
    }
    return bytes;
  }();
  device_.write(data, pattern.data(), std::min(kPattern, bytes));
  for (std::int64_t done = kPattern; done < bytes; done *= 2) {
    device_.copy(data + done, data, std::min(done, bytes - done));
  }
  return data;
}

template <class F>
double CandidateTimer::seconds_of(F run) {
  if (!sweeper_) return row_seconds(run);
  const double both = row_seconds([&] {
    device_.launch(sweep_);
    run();
  });
  return std::max(both - sweep_seconds_, 1e-9);
}

/// By replays of a row of runs, so that the host's part is not in it.
template <class F>
double CandidateTimer::row_seconds(F run) {
  run();
  const double once = once_seconds(run);
  const int row = std::clamp(static_cast<int>(kRowSeconds / std::max(once, 1e-9)), 1, kRow);
  if (row == 1 || !device_.can_record()) {
    double least = once;
    for (int i = 1; i < kTries; ++i) least = std::min(least, once_seconds(run));
    return least;
  }
  const std::unique_ptr<Recording> recording = recorded(row, run);
  device_.replay(*recording);
  double least = 1e9;
  for (int i = 0; i < kTries; ++i) {
    least = std::min(least, once_seconds([&] { device_.replay(*recording); }) / row);
  }
  return least;
}

template <class F>
double CandidateTimer::once_seconds(F run) {
  device_.forget_marks();
  const int begin = device_.mark();
  run();
  const int end = device_.mark();
  device_.wait();
  return device_.seconds(begin, end);
}

/// A recording in which something fails is ended before that is said.
template <class F>
std::unique_ptr<Recording> CandidateTimer::recorded(int row, F run) {
  device_.begin_recording();
  try {
    for (int i = 0; i < row; ++i) run();
  } catch (const RunError&) {
    try {
      device_.end_recording();
    } catch (const RunError&) {  // what failed first is said
    }
    throw;
  }
  return device_.end_recording();
}

Launch CandidateTimer::launch_of(const PrintedLoop& printed, const std::vector<char*>& buffers) {
  Launch launch;
  launch.dependent = true;
  launch.blocks = evaluate(printed.call.rows, sizes_);
  launch.threads = printed.call.threads;
  launch.block_bytes = printed.call.block_bytes;
  launch.maps = printed.call.maps;
  for (char* b : buffers) launch.words.push_back(reinterpret_cast<Word>(b));
  for (const Dim& size : printed.call.column_sizes) {
    launch.words.push_back(reinterpret_cast<Word>(take(8 * evaluate(size, sizes_), false)));
  }
  launch.words.push_back(reinterpret_cast<Word>(flag_));
  for (const Dim& d : printed.call.function.parameters) {
    launch.words.push_back(static_cast<Word>(evaluate(d, sizes_)));
  }
  return launch;
}

LibraryOperands CandidateTimer::operands(const std::optional<Fused>& fused) const {
  LibraryOperands o{.a = a_, .b = b_, .c = fused ? buffers_[at(fused->result)] : c_};
  if (fused && fused->bias >= 0) o.bias = buffers_[at(fused->bias)];
  if (fused && fused->residual >= 0) o.residual = buffers_[at(fused->residual)];
  return o;
}

double CandidateTimer::glance(const LibraryCall& call, const std::optional<Fused>& fused,
                              const std::function<bool(double)>& is_slow) {
  LibraryOperands o = operands(fused);
  o.workspace = take(call.workspace_bytes(), false);
  run(call, o);
  double least = 1e9;
  for (int i = 0; i < kGlances && is_slow(least); ++i) {
    least = std::min(least, once_seconds([&] { run(call, o); }));
  }
  return least;
}

double CandidateTimer::time(LibraryCall& call, const std::optional<Fused>& fused) {
  LibraryOperands o = operands(fused);
  tune(call, o);
  return seconds_of([&] { run(call, o); });
}

double CandidateTimer::time(LibraryCall& call, const PrintedLoop& behind) {
  LibraryOperands o = operands(std::nullopt);
  tune(call, o);
  const auto built = device_.compile({codegen::cuda::unit_header() + behind.text});
  std::vector<char*> buffers = buffers_;
  buffers.push_back(c_);
  Launch launch = launch_of(behind, buffers);
  launch.function = built.modules[0]->function(behind.call.function.name);
  return seconds_of([&] {
    run(call, o);
    device_.launch(launch);
  });
}

void CandidateTimer::tune(LibraryCall& call, LibraryOperands& o) {
  o.workspace = take(std::max(call.tune_bytes(), call.workspace_bytes()), false);
  call.tune(device_.stream(), o);
}

void CandidateTimer::run(const LibraryCall& call, const LibraryOperands& o) {
  if (const char* error = call.run(device_.stream(), o)) throw RunError(error);
}

std::vector<double> CandidateTimer::time(const std::vector<PrintedLoop>& generated) {
  std::vector<std::string> texts;
  for (const PrintedLoop& p : generated) texts.push_back(codegen::cuda::unit_header() + p.text);
  const auto modules = device_.compile(texts).modules;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < generated.size(); ++i) {
    try {
      seconds.push_back(time(generated[i], *modules[i]));
    } catch (const RunError&) {
      seconds.push_back(std::numeric_limits<double>::infinity());
    }
  }
  return seconds;
}

double CandidateTimer::time(const PrintedLoop& generated, const Module& module) {
  const std::string& name = generated.call.function.name;
  std::vector<char*> buffers{a_, b_};
  if (buffers_.empty()) buffers.push_back(c_);
  buffers.insert(buffers.end(), buffers_.begin(), buffers_.end());
  Launch launch = launch_of(generated, buffers);
  launch.function = module.function(name);
  Launch finish = launch;
  const bool two = !generated.call.finish_rows.is(0);
  if (two) {
    finish.function = module.function(name + "_finish");
    finish.blocks = evaluate(generated.call.finish_rows, sizes_);
    finish.threads = codegen::cuda::kThreads;
    finish.block_bytes = finish_bytes(generated.call);
  }
  return seconds_of([&] {
    device_.launch(launch);
    if (two) device_.launch(finish);
  });
}

}  // namespace plait::cuda
