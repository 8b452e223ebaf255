// Runs a Contract on fenced memory and compares it with a plain double loop over the Problem.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "backends/cpu/contract/blocking.h"
#include "backends/cpu/contract/work.h"
#include "loop/sum_blocks.h"
#include "tests/backends/contract_cases.h"

namespace plait::cpu {

inline double read(DType dtype, const std::byte* data, std::int64_t index) {
  if (dtype == DType::f32) {
    float x;
    std::memcpy(&x, data + index * 4, 4);
    return x;
  }
  std::uint16_t bits;
  std::memcpy(&bits, data + index * 2, 2);
  return dtype == DType::bf16 ? bf16_value(bits) : f16_value(bits);
}

inline void write(DType dtype, std::byte* data, std::int64_t index, double value) {
  if (dtype == DType::f32) {
    const float x = static_cast<float>(value);
    std::memcpy(data + index * 4, &x, 4);
    return;
  }
  const std::uint16_t bits = dtype == DType::bf16 ? bf16_bits(value) : f16_bits(value);
  std::memcpy(data + index * 2, &bits, 2);
}

/// Operands with random values, the result in double, and how far off a result may be.
struct Reference {
  Problem problem;
  std::unique_ptr<Fenced> a, b;
  std::int64_t c_elements = 0;
  std::vector<double> want, bound;  // of every element of C, where written
  std::vector<bool> written;
  std::vector<std::int64_t> c_at;  // [batch][m][n]

  Reference(const Problem& p, unsigned seed, bool at_end) : problem(p) {
    const std::int64_t bytes = static_cast<std::int64_t>(size_of(p.dtype));
    std::int64_t a_last = -1, b_last = -1, c_last = -1;
    each_result(
        p, [&](auto, auto, auto, std::int64_t c, const Axis& batch, const Axis& m, const Axis& n) {
          c_last = std::max(c_last, c);
          c_at.push_back(c);
          each_product(p, batch, m, n, [&](std::int64_t x, std::int64_t y) {
            a_last = std::max(a_last, x);
            b_last = std::max(b_last, y);
          });
        });
    a = std::make_unique<Fenced>((a_last + 1) * bytes, at_end);
    b = std::make_unique<Fenced>((b_last + 1) * bytes, at_end);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> values(-1, 1);
    for (std::int64_t i = 0; i <= a_last; ++i) write(p.dtype, a->data(), i, values(random));
    for (std::int64_t i = 0; i <= b_last; ++i) write(p.dtype, b->data(), i, values(random));
    c_elements = c_last + 1;
    want.assign(static_cast<std::size_t>(c_elements), 0);
    bound.assign(static_cast<std::size_t>(c_elements), 0);
    written.assign(static_cast<std::size_t>(c_elements), false);
    compute();
  }

  /// Errors of an f32 sum of K products, and of one rounding to the dtype.
  void compute() {
    const Problem& p = problem;
    // Of a long sum, those of a block and of a group, and the groups in f64.
    const std::int64_t depth = extent_of(p.k);
    const double terms =
        static_cast<double>(depth > loop::kLongContraction ? 768 + kGroupBlocks : depth);
    const double half_ulp = p.dtype == DType::f32    ? 0x1p-24
                            : p.dtype == DType::bf16 ? 0x1p-8
                                                     : 0x1p-11;
    each_result(
        p, [&](auto, auto, auto, std::int64_t c, const Axis& batch, const Axis& m, const Axis& n) {
          double sum = 0, size = 0;
          each_product(p, batch, m, n, [&](std::int64_t x, std::int64_t y) {
            if (x < 0) return;
            const double product = read(p.dtype, a->data(), x) * read(p.dtype, b->data(), y);
            sum += product;
            size += std::abs(product);
          });
          const std::size_t at = static_cast<std::size_t>(c);
          want[at] = sum;
          const double summed = (terms + 4) * 0x1p-24 * size;
          bound[at] = summed + half_ulp * (std::abs(sum) + summed) + 0x1p-25;
          written[at] = true;
        });
  }
};

struct SinkTarget {
  std::int64_t m, n;
  bool turned;              // the sink is given n as the rows
  std::vector<float>* out;  // [batch][m][n], every element once
};

inline void sink_into(const void* context, std::int64_t batch, std::int64_t m0, std::int64_t m1,
                      std::int64_t n0, std::int64_t n1, const float* tile, std::int64_t ld) {
  const SinkTarget& target = *static_cast<const SinkTarget*>(context);
  for (std::int64_t row = m0; row < m1; ++row) {
    for (std::int64_t col = n0; col < n1; ++col) {
      const std::int64_t m = target.turned ? col : row, n = target.turned ? row : col;
      float& to = (*target.out)[static_cast<std::size_t>((batch * target.m + m) * target.n + n)];
      EXPECT_TRUE(std::isnan(to)) << "written twice";
      to = tile[(row - m0) * ld + (col - n0)];
    }
  }
}

/// Packs and runs with tasks in the order of `seed`; C comes back as bytes, or through the sink.
inline std::vector<std::byte> run_once(const Reference& ref, const Contract& contract,
                                       unsigned seed, std::vector<float>* through_sink,
                                       bool turned = false) {
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(ref.problem.dtype));
  const bool at_end = seed % 2 == 1;
  Fenced c(ref.c_elements * bytes, at_end);
  Fenced packed(contract.packed_bytes(), at_end), scratch(contract.scratch_bytes(), at_end);
  for (const Fenced* memory : {&c, &packed, &scratch}) {
    if (memory->bytes() > 0) std::memset(memory->data(), 0xa5, memory->bytes());
  }
  std::mt19937 random(seed);
  std::vector<std::int64_t> order(static_cast<std::size_t>(contract.pack_tasks()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (const std::int64_t task : order) {
    contract.pack(task, ref.a->data(), ref.b->data(), packed.data(), scratch.data());
  }
  order.resize(static_cast<std::size_t>(contract.tasks()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  const SinkTarget target{extent_of(ref.problem.m), extent_of(ref.problem.n), turned, through_sink};
  for (const std::int64_t task : order) {
    contract.run(task, ref.a->data(), ref.b->data(), packed.data(), c.data(),
                 through_sink != nullptr ? &sink_into : nullptr, &target, scratch.data(), turned);
  }
  return {c.data(), c.data() + c.bytes()};
}

/// Result within the bound (Winograd's numbers are larger than what they are made of, and so are
/// its errors), nothing else written, the same bits in any order and through a sink.
inline void expect_right(const Reference& ref, const Contract& contract, const std::string& name) {
  const double growth = contract.variant().winograd ? 4 : 1;
  const DType dtype = ref.problem.dtype;
  const std::vector<std::byte> c = run_once(ref, contract, 1, nullptr);
  const std::size_t bytes = size_of(dtype);
  for (std::size_t i = 0; i < ref.written.size(); ++i) {
    if (ref.written[i]) {
      const double got = read(dtype, c.data(), static_cast<std::int64_t>(i));
      ASSERT_LE(std::abs(got - ref.want[i]), growth * ref.bound[i])
          << name << ", " << contract.id() << ", element " << i << ": " << got << ", not "
          << ref.want[i];
      continue;
    }
    for (std::size_t j = 0; j < bytes; ++j) {
      ASSERT_EQ(c[i * bytes + j], std::byte{0xa5}) << name << ": wrote beside C at " << i;
    }
  }
  ASSERT_EQ(c, run_once(ref, contract, 2, nullptr)) << name << ": the order of tasks matters";
  for (const bool turned : {false, true}) {
    if (turned && !contract.variant().swapped && !lies_along_m(ref.problem)) continue;
    std::vector<float> sunk(ref.c_at.size(), std::nanf(""));
    const std::vector<std::byte> untouched = run_once(ref, contract, 3, &sunk, turned);
    for (std::size_t i = 0; i < sunk.size(); ++i) {
      std::byte rounded[4];
      write(dtype, rounded, 0, sunk[i]);
      ASSERT_EQ(
          std::memcmp(rounded, c.data() + ref.c_at[i] * static_cast<std::int64_t>(bytes), bytes), 0)
          << name << ", " << contract.id() << ": the sink got " << sunk[i] << " at " << i
          << (turned ? ", turned" : "");
    }
    for (const std::byte byte : untouched)
      ASSERT_EQ(byte, std::byte{0xa5}) << name << ": beside sink";
  }
}

}  // namespace plait::cpu
