// Sums of very many terms by the contraction engine: every variant that this machine runs, tiles
// emulated, and Winograd's gradients of weights.
#include <gtest/gtest.h>

#include "backends/cpu/contract/winograd.h"
#include "tests/backends/contract_check.h"
#include "tests/backends/contract_emulated.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t kLong = loop::kLongContraction;

/// C[m, n] = a[m] b[n], `terms` times: operands do not move along k, so that they take no memory.
/// All terms of a sum are equal and rounded the same way, which is the worst there is.
Problem equal_terms(std::int64_t m, std::int64_t n, std::int64_t terms) {
  Problem p;
  p.m = {{.extent = m, .a = 1, .c = n}};
  p.n = {{.extent = n, .b = 1, .c = 1}};
  p.k = {{.extent = terms}};
  return p;
}

double worst(const Problem& p, const Contract& contract) {
  const std::int64_t m = p.m[0].extent, n = p.n[0].extent;
  std::vector<float> a, b, c(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) a.push_back(std::sqrt(0.1F) * static_cast<float>(i + 1));
  for (std::int64_t i = 0; i < n; ++i) b.push_back(std::sqrt(0.1F) / static_cast<float>(i + 1));
  Fenced packed(contract.packed_bytes(), true), scratch(contract.scratch_bytes(), true);
  for (std::int64_t t = 0; t < contract.pack_tasks(); ++t) {
    contract.pack(t, a.data(), b.data(), packed.data(), scratch.data());
  }
  for (std::int64_t t = 0; t < contract.tasks(); ++t) {
    contract.run(t, a.data(), b.data(), packed.data(), c.data(), nullptr, nullptr, scratch.data());
  }
  double off = 0;
  for (std::int64_t i = 0; i < m * n; ++i) {
    const double want = static_cast<double>(a[static_cast<std::size_t>(i / n)]) *
                        static_cast<double>(b[static_cast<std::size_t>(i % n)]) *
                        static_cast<double>(p.k[0].extent);
    off = std::max(off, std::abs(static_cast<double>(c[static_cast<std::size_t>(i)]) / want - 1));
  }
  return off;
}

// A unit of the last place for each addition of a block, 512 terms or fewer, and of a group.
constexpr double kBound = (512 + kGroupBlocks) * 0x1p-24;

TEST(LongContract, KeepsItsDigits) {
  for (const std::int64_t terms : {kLong + 1, std::int64_t{10'000'000}}) {
    const Problem p = equal_terms(3, 5, terms);
    int tried = 0;
    for (const Variant& v : variants(p, detect_isa())) {
      if (!accepts(p, v)) continue;
      const Contract contract(p, v);
      if (contract.packed_bytes() > (std::int64_t{1} << 28)) continue;
      const double off = worst(p, contract);
      EXPECT_LE(off, kBound) << contract.id() << ", " << terms << " terms";
      EXPECT_NE(contract.id().find(".g64"), std::string::npos) << contract.id();
      ++tried;
    }
    EXPECT_GE(tried, 2);
  }
}

TEST(LongContract, KeepsItsDigitsOnTilesEmulated) {
  const Problem p = equal_terms(2, 3, 2 * kLong + 77);
  for (const bool swapped : {false, true}) {
    const Variant v{Isa::kAmx, 32, 32, 512, 32, 32, swapped, true};
    EXPECT_LE(worst(p, Contract(make_blocked(p, v, emulated_amx_kernels()))), kBound) << swapped;
  }
}

TEST(LongContract, ShortSumsAreAsTheyWere) {
  const Problem p = equal_terms(3, 5, kLong);
  const Contract contract(p, variants(p, detect_isa()).front());
  EXPECT_EQ(contract.id().find(".g"), std::string::npos) << contract.id();
}

// Every term is there once: random ones, in tiles of several rows and columns, through sinks too.
TEST(LongContract, SumsEveryTerm) {
  unsigned seed = 600;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    Problem p = matmul({.m = 5, .n = 7, .k = kLong + 1000, .b_turned = true});
    p.dtype = dtype;
    ++seed;
    const Reference ref(p, seed, seed % 2 == 0);
    for (Variant v : variants(p, detect_isa())) {
      if (!accepts(p, v)) continue;
      v.mc = v.mr == 1 ? 1 : v.mr - 1;
      expect_right(ref, Contract(p, v), to_text(v));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// 1.05 million pixels by 16 channels and filters.
TEST(LongContract, WinogradKeepsTheDigitsOfWeights) {
  const Isa isa = std::min(detect_isa(), Isa::kAvx512);
  const Kernels& kernels = kernels_of(isa);
  const ConvShape s{.n = 4, .h = 514, .w = 514, .c = 16, .o = 16, .pad = 0};
  const Problem p = conv_weight_grad(s);
  WinogradGuess guess;
  ASSERT_TRUE(guess_winograd(p, isa, kernels, 0, true, false, guess));
  const Contract contract(make_winograd(p, guess.variant, kernels));
  EXPECT_NE(contract.id().find(".g64"), std::string::npos) << contract.id();
  const float x = std::sqrt(0.1F);
  const std::vector<float> image(static_cast<std::size_t>(s.n * s.h * s.w * s.c), x);
  const std::vector<float> dy(static_cast<std::size_t>(s.n * 512 * 512 * s.o), x);
  std::vector<float> dw(9 * 16 * 16);
  Fenced packed(contract.packed_bytes(), true), scratch(contract.scratch_bytes(), true);
  for (std::int64_t t = 0; t < contract.pack_tasks(); ++t) {
    contract.pack(t, image.data(), dy.data(), packed.data(), scratch.data());
  }
  for (std::int64_t t = 0; t < contract.tasks(); ++t) {
    contract.run(t, image.data(), dy.data(), packed.data(), dw.data(), nullptr, nullptr,
                 scratch.data());
  }
  const double want = static_cast<double>(x * x) * 4 * 512 * 512;
  for (const float got : dw) EXPECT_LE(std::abs(static_cast<double>(got) / want - 1), kBound);
}

TEST(LongContract, WinogradForwardRefusesLongSums) {
  const Isa isa = std::min(detect_isa(), Isa::kAvx512);
  const ConvShape s{.n = 1, .h = 8, .w = 8, .c = 29'184, .o = 16};
  WinogradGuess guess;
  EXPECT_FALSE(guess_winograd(conv(s), isa, kernels_of(isa), 0, false, false, guess));
}

}  // namespace
}  // namespace plait::cpu
