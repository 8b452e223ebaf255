// Contractions printed for CUDA and run on the device under test, against a plain double loop.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "codegen/cuda/product.h"
#include "loop/sum_blocks.h"
#include "tests/backends/contract_cases.h"
#include "tests/backends/device_under_test.h"

namespace plait::codegen::cuda {

using cpu::Problem;

inline loop::Contraction contraction_of(const Problem& p) {
  loop::Contraction c;
  c.dtype = p.dtype;
  const auto copy = [](const std::vector<cpu::Axis>& from, auto& to) {
    for (const cpu::Axis& x : from) to.push_back({x.extent, x.a, x.b, x.c, x.h, x.w});
  };
  copy(p.batch, c.batch);
  copy(p.m, c.m);
  copy(p.n, c.n);
  copy(p.k, c.k);
  c.a0 = p.a0;
  c.b0 = p.b0;
  c.c0 = p.c0;
  c.guarded = p.guarded;
  c.h0 = p.h0;
  c.w0 = p.w0;
  c.height = p.height;
  c.width = p.width;
  return c;
}

inline double element(DType t, const std::byte* data, std::int64_t i) {
  return visit_dtype(t, [&](auto tag) {
    typename decltype(tag)::type x;
    std::memcpy(&x, data + i * static_cast<std::int64_t>(sizeof x), sizeof x);
    return static_cast<double>(x);
  });
}

inline void set_element(DType t, std::byte* data, std::int64_t i, double value) {
  visit_dtype(t, [&](auto tag) {
    const auto x = static_cast<typename decltype(tag)::type>(value);
    std::memcpy(data + i * static_cast<std::int64_t>(sizeof x), &x, sizeof x);
  });
}

/// Operands, and what the result should be, by offset in C.
struct Expected {
  Problem problem;
  std::vector<std::byte> a, b;
  std::vector<double> want, bound;
  std::vector<bool> written;
  std::vector<std::int64_t> c_at;  // [batch, m, n]

  Expected(const Problem& p, bool tf32, unsigned seed) : problem(p) {
    std::int64_t a_last = 0, b_last = 0, c_last = 0;
    each([&](std::int64_t c, auto&&... at) {
      c_at.push_back(c);
      c_last = std::max(c_last, c);
      cpu::each_product(p, at..., [&](std::int64_t x, std::int64_t y) {
        a_last = std::max(a_last, x);
        b_last = std::max(b_last, y);
      });
    });
    std::mt19937 random(seed);
    fill(a, a_last + 1, random);
    fill(b, b_last + 1, random);
    want.assign(static_cast<std::size_t>(c_last + 1), 0);
    bound = want;
    written.assign(want.size(), false);
    compute(tf32);
  }

  template <class F>
  void each(F f) {
    cpu::each_result(problem, [&](auto, auto, auto, std::int64_t c, const cpu::Axis& batch,
                                  const cpu::Axis& m, const cpu::Axis& n) { f(c, batch, m, n); });
  }

  void fill(std::vector<std::byte>& to, std::int64_t count, std::mt19937& random) const {
    to.resize(static_cast<std::size_t>(count) * size_of(problem.dtype));
    std::uniform_real_distribution<double> real(-1, 1);
    std::uniform_int_distribution<int> whole(problem.dtype == DType::u8 ? 0 : -9, 9);
    for (std::int64_t i = 0; i < count; ++i) {
      const bool floats = is_float(problem.dtype);
      set_element(problem.dtype, to.data(), i, floats ? real(random) : whole(random));
    }
  }

  /// Errors of a sum of K products in the accumulator, and of one rounding to the dtype.
  void compute(bool tf32) {
    const DType t = problem.dtype;
    // Of a long sum of f32, those of a block, and the splits.
    const std::int64_t depth = cpu::extent_of(problem.k);
    const bool blocks = t == DType::f32 && depth > loop::kLongContraction;
    const double terms = static_cast<double>(blocks ? 1024 : depth);
    const double step = t == DType::f64 ? 0x1p-53 : 0x1p-24;
    const double operands = tf32 && t == DType::f32 ? 0x1p-9 : 0;  // both cut to 11 bits
    const double last = t == DType::bf16 ? 0x1p-8 : t == DType::f16 ? 0x1p-11 : step;
    each([&](std::int64_t c, auto&&... at) {
      double sum = 0, size = 0;
      cpu::each_product(problem, at..., [&](std::int64_t x, std::int64_t y) {
        if (x < 0) return;
        const double product = element(t, a.data(), x) * element(t, b.data(), y);
        sum += product;
        size += std::abs(product);
      });
      const auto i = static_cast<std::size_t>(c);
      want[i] = sum;
      const double summed = ((terms + 4) * step + operands) * size;
      bound[i] = is_float(t) ? summed + last * (std::abs(sum) + summed) + step : 0;
      if (t == DType::i8) want[i] = static_cast<std::int8_t>(static_cast<std::int64_t>(sum));
      if (t == DType::u8) want[i] = static_cast<std::uint8_t>(static_cast<std::int64_t>(sum));
      written[i] = true;
    });
  }
};

/// Launches a printed product; `extra` are the epilogue's buffers instead of C.
inline void launch(plait::cuda::Device& device, const plait::cuda::Module& module, const Printed& p,
                   std::vector<plait::cuda::Word> words, const DimBindings& sizes) {
  const auto word = [](const char* x) { return reinterpret_cast<plait::cuda::Word>(x); };
  std::vector<char*> areas;
  for (const Dim& d : p.scratch_sizes) {
    areas.push_back(device.allocate(8 * evaluate(d, sizes), "partial sums"));
    words.push_back(word(areas.back()));
  }
  areas.push_back(device.allocate(4, "errors"));
  device.zero(areas.back(), 4);
  words.push_back(word(areas.back()));
  for (const Dim& d : p.parameters) {
    words.push_back(static_cast<plait::cuda::Word>(evaluate(d, sizes)));
  }
  device.launch({module.function(p.name), evaluate(p.blocks, sizes), p.threads, p.block_bytes,
                 words, p.maps});
  if (!p.finish_blocks.is(0)) {
    device.launch({module.function(p.name + "_finish"), evaluate(p.finish_blocks, sizes), kThreads,
                   0, words});
  }
  int bad = 0;
  device.read(&bad, areas.back(), 4);
  EXPECT_EQ(bad, 0);
  for (char* area : areas) device.release(area);
}

/// Memory of a device with what the host has.
class OnDevice {
 public:
  OnDevice(plait::cuda::Device& device, const std::vector<std::byte>& bytes, const char* what)
      : device_(device), bytes_(static_cast<std::int64_t>(bytes.size())) {
    data_ = device.allocate(bytes_, what);
    device.write(data_, bytes.data(), bytes_);
  }
  ~OnDevice() { device_.release(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  plait::cuda::Word word() const { return reinterpret_cast<plait::cuda::Word>(data_); }
  std::vector<std::byte> read() const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_));
    device_.read(bytes.data(), data_, bytes_);
    return bytes;
  }

 private:
  plait::cuda::Device& device_;
  std::int64_t bytes_;
  char* data_;
};

/// Every element within its bound, nothing written beside them.
inline void expect_right(plait::cuda::Device& device, const plait::cuda::Module& module,
                         const Printed& p, const Expected& expected, const DimBindings& sizes) {
  const DType t = expected.problem.dtype;
  const OnDevice a(device, expected.a, "a"), b(device, expected.b, "b");
  const std::vector<std::byte> unset(expected.want.size() * size_of(t), std::byte{0xa5});
  const OnDevice c(device, unset, "c");
  launch(device, module, p, {a.word(), b.word(), c.word()}, sizes);
  const std::vector<std::byte> got = c.read();
  for (std::size_t i = 0; i < expected.want.size(); ++i) {
    if (!expected.written[i]) {
      ASSERT_EQ(std::memcmp(&got[i * size_of(t)], &unset[i * size_of(t)], size_of(t)), 0)
          << "wrote beside C at " << i;
      continue;
    }
    const double x = element(t, got.data(), static_cast<std::int64_t>(i));
    ASSERT_LE(std::abs(x - expected.want[i]), expected.bound[i])
        << "element " << i << ": " << x << ", not " << expected.want[i];
  }
}

}  // namespace plait::codegen::cuda
