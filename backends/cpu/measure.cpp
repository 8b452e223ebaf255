// Trial runs of contractions.
#include "backends/cpu/measure.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "backends/cpu/cost.h"

namespace plait::cpu {
namespace {

/// Bytes that the axes of an operand span, for a trial run.
std::int64_t span(const Problem& p, std::int64_t Axis::*step, std::int64_t origin) {
  std::int64_t last = std::max<std::int64_t>(0, origin);
  for (const auto* axes : {&p.batch, &p.m, &p.n, &p.k}) {
    for (const Axis& x : *axes) {
      last += std::max<std::int64_t>(0, (x.extent - 1) * (x.*step));
    }
  }
  return (last + 1) * static_cast<std::int64_t>(size_of(p.dtype)) + 4096;
}

/// A product [m, k] by [k, n] of dense rows.
Problem product(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem p;
  p.dtype = dtype;
  p.m = {{.extent = m, .a = k, .c = n}};
  p.n = {{.extent = n, .b = 1, .c = 1}};
  p.k = {{.extent = k, .a = 1, .b = n}};
  return p;
}

/// A convolution of 3 by 3, stride 1, channels last, with a border of zeros.
Problem convolution(DType dtype, std::int64_t size, std::int64_t channels) {
  Problem p;
  p.dtype = dtype;
  const std::int64_t row = size * channels;
  p.m = {{.extent = size, .a = row, .c = row, .h = 1, .w = 0},
         {.extent = size, .a = channels, .c = channels, .h = 0, .w = 1}};
  p.n = {{.extent = channels, .b = 1, .c = 1}};
  p.k = {{.extent = 3, .a = row, .b = 3 * channels * channels, .h = 1, .w = 0},
         {.extent = 3, .a = channels, .b = channels * channels, .h = 0, .w = 1},
         {.extent = channels, .a = 1, .b = channels}};
  p.a0 = -row - channels;
  p.h0 = p.w0 = -1;
  p.guarded = true;
  p.height = p.width = size;
  return p;
}

/// The gradient of such a convolution's weights.
Problem weights_gradient(DType dtype, std::int64_t size, std::int64_t channels) {
  Problem p = convolution(dtype, size, channels);
  const std::int64_t row = size * channels;
  p.m = {{.extent = 3, .a = row, .c = 3 * channels * channels, .h = 1, .w = 0},
         {.extent = 3, .a = channels, .c = channels * channels, .h = 0, .w = 1},
         {.extent = channels, .a = 1, .c = channels}};
  p.k = {{.extent = size, .a = row, .b = row, .h = 1, .w = 0},
         {.extent = size, .a = channels, .b = channels, .h = 0, .w = 1}};
  return p;
}

}  // namespace

double trial_seconds(const Problem& problem, const Variant& variant, std::int64_t cold_bytes) {
  std::vector<char> swept(static_cast<std::size_t>(cold_bytes));
  const Contract contract(problem, variant);
  std::vector<char> a(static_cast<std::size_t>(span(problem, &Axis::a, problem.a0))),
      b(static_cast<std::size_t>(span(problem, &Axis::b, problem.b0))),
      c(static_cast<std::size_t>(span(problem, &Axis::c, problem.c0))),
      packed(static_cast<std::size_t>(contract.packed_bytes()) + 64),
      scratch(static_cast<std::size_t>(contract.scratch_bytes()) + 64);
  const auto aligned = [](std::vector<char>& v) {
    return reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(v.data()) + 63) &
                                   ~std::uintptr_t(63));
  };
  double best = 1e9;
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 5; ++round) {
    std::fill(swept.begin(), swept.end(), static_cast<char>(round + 1));
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t t = 0; t < contract.pack_tasks(); ++t)
      contract.pack(t, a.data(), b.data(), aligned(packed), aligned(scratch));
    // Some tasks stand for all: they are alike.
    const std::int64_t tasks = std::min<std::int64_t>(contract.tasks(), cold_bytes > 0 ? 64 : 8);
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

void measure_shares(DeviceModel& device) {
  const Isa best = detect_isa();
  std::map<std::string, std::vector<double>> shares;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Problem& p : {product(dtype, 256, 256, 512), product(dtype, 512, 128, 128),
                             convolution(dtype, 28, 64), convolution(dtype, 14, 256),
          weights_gradient(dtype, 28, 64), weights_gradient(dtype, 14, 256)}) {
      std::map<std::string, bool> tried;
      for (const Ranked& r : ranked_variants(p, best)) {
        const std::string kind = kind_of(r.variant, dtype);
        if (!r.accepted || r.variant.isa < std::min(best, Isa::kAvx512) || tried[kind]) {
          continue;
        }
        tried[kind] = true;
        const double cycles = trial_seconds(p, r.variant, device.cache_bytes) * device.cycles_per_second;
        shares[kind].push_back((r.cost.run + r.cost.pack) / cycles);
      }
    }
  }
  for (auto& [kind, found] : shares) {
    std::sort(found.begin(), found.end());
    device.share[kind] = found[found.size() / 2];
  }
}

}  // namespace plait::cpu
