// What the contraction labs share: the time of one thread, the peak of its fma units, buffers, a
// run of the engine, and a table of operations per second as shares of that peak.
#pragma once

#include <ctime>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/contract/contract.h"

namespace plait::lab {

/// Processor time of this thread: other programs on the machine do not count.
inline double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Best of the runs that fit into a third of a second, at least one.
inline double best_seconds(const std::function<void()>& run) {
  double best = 1e30;
  for (double sum = 0; sum < 0.3;) {
    const double start = thread_seconds();
    run();
    const double seconds = std::max(thread_seconds() - start, 1e-9);
    best = std::min(best, seconds);
    sum += seconds;
  }
  return best;
}

/// Floats, 64-byte aligned.
class Floats {
 public:
  explicit Floats(std::int64_t count, float value = 0)
      : data_(static_cast<float*>(std::aligned_alloc(64, (count * 4 + 127) / 64 * 64))) {
    std::fill_n(data_.get(), count, value);
  }
  float* get() const { return data_.get(); }
  void fill(std::int64_t count, unsigned seed) const {
    for (std::int64_t i = 0; i < count; ++i) {
      seed = seed * 1664525u + 1013904223u;
      data_.get()[i] = static_cast<float>(seed >> 8) * 0x1p-24f - 0.5f;
    }
  }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data_;
};

/// Operations per second of a loop that only multiplies and adds registers.
double peak_avx2();
double peak_avx512();
inline double peak_flops() {
  const cpu::Isa isa = cpu::detect_isa();
  const auto loop = isa >= cpu::Isa::kAvx512 ? &peak_avx512 : &peak_avx2;
  if (isa < cpu::Isa::kAvx2) fail("the labs measure against fma units: this machine has none");
  double best = 0;
  for (int i = 0; i < 20; ++i) best = std::max(best, loop());
  return best;
}

/// Steps on the way to the engine, c[m, n] = a[m, k] * b[k, n]: registers, then a packed b.
void matmul_vectorised(std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                       const float* b, float* c);
void matmul_packed(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
                   float* c, float* packed);

/// Packs and runs every task of a contraction.
class Engine {
 public:
  Engine(const cpu::Problem& problem, const cpu::Variant& variant)
      : contract_(problem, variant),
        packed_(contract_.packed_bytes() / 4 + 16),
        scratch_(contract_.scratch_bytes() / 4 + 16) {}
  const std::string& id() const { return contract_.id(); }
  void pack(const float* a, const float* b) const {
    for (std::int64_t i = 0; i < contract_.pack_tasks(); ++i) {
      contract_.pack(i, a, b, packed_.get(), scratch_.get());
    }
  }
  void run(const float* a, const float* b, float* c) const {
    for (std::int64_t i = 0; i < contract_.tasks(); ++i) {
      contract_.run(i, a, b, packed_.get(), c, nullptr, nullptr, scratch_.get());
    }
  }

 private:
  cpu::Contract contract_;
  Floats packed_, scratch_;
};

/// One row of the table, and how far the result is from the first one's.
class Table {
 public:
  explicit Table(double flops) : flops_(flops), peak_(peak_flops()) {
    std::printf("%.1f MFLOP; peak of one thread %.1f GFLOP/s\n", flops / 1e6, peak_ / 1e9);
    std::printf("%-44s %10s %9s %6s %10s\n", "", "us", "GFLOP/s", "peak", "difference");
  }
  void row(const std::string& name, const float* result, std::int64_t count,
           const std::function<void()>& run) {
    const double seconds = best_seconds(run);
    double off = 0;
    if (first_.empty()) first_.assign(result, result + count);
    for (std::int64_t i = 0; i < count; ++i) {
      off = std::max<double>(off, std::abs(result[i] - first_[static_cast<std::size_t>(i)]));
    }
    std::printf("%-44s %10.1f %9.2f %5.1f%% %10.1e\n", name.c_str(), seconds * 1e6,
                flops_ / seconds / 1e9, 100 * flops_ / seconds / peak_, off);
  }
  /// A row that has no result of its own, such as packing.
  void time_only(const std::string& name, const std::function<void()>& run) const {
    std::printf("%-44s %10.1f\n", name.c_str(), best_seconds(run) * 1e6);
  }

 private:
  double flops_, peak_;
  std::vector<float> first_;
};

}  // namespace plait::lab
