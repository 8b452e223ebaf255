// The contraction engine against a plain double loop: every layout, odd and empty sizes, every
// variant that this machine runs, and those it does not run with emulated instructions.
#include "backends/cpu/contract/contract.h"

#include <gtest/gtest.h>

#include "backends/cpu/contract/sliding.h"
#include "tests/backends/contract_check.h"
#include "tests/backends/contract_emulated.h"
#include "tests/raises.h"

namespace plait::cpu {
namespace {

std::vector<Case> matmul_cases() {
  std::vector<Case> cases;
  const auto add = [&](const MatmulShape& s) {
    cases.push_back({str("matmul ", s.batch, "x", s.m, "x", s.n, "x", s.k, s.a_turned ? " At" : "",
                         s.b_turned ? " Bt" : "", s.c_turned ? " Ct" : ""),
                     matmul(s)});
  };
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      for (const bool c : {false, true}) {
        add({.m = 37, .n = 41, .k = 29, .a_turned = a, .b_turned = b, .c_turned = c});
        add({.m = 7, .n = 70, .k = 530, .a_turned = a, .b_turned = b, .c_turned = c, .slack = 3});
        add({.m = 65, .n = 9, .k = 5, .batch = 3, .a_turned = a, .b_turned = b, .c_turned = c});
      }
    }
  }
  for (const std::int64_t m : {1, 2, 13}) {
    for (const std::int64_t n : {1, 3, 17}) {
      for (const std::int64_t k : {0, 1, 2, 33}) add({.m = m, .n = n, .k = k});
    }
  }
  add({.m = 0, .n = 5, .k = 7});
  add({.m = 5, .n = 0, .k = 7});
  add({.m = 5, .n = 3, .k = 7, .batch = 0});
  add({.m = 20, .n = 33, .k = 40, .batch = 4, .share_b = true});
  add({.m = 20, .n = 33, .k = 40, .batch = 4, .share_a = true});
  add({.m = 130, .n = 20, .k = 24, .batch = 3});
  add({.m = 6, .n = 16, .k = 1024, .b_turned = true});
  add({.m = 30, .n = 16, .k = 1024});
  add({.m = 250, .n = 600, .k = 20});
  return cases;
}

std::vector<Case> conv_cases(bool nchw) {
  std::vector<Case> cases;
  const auto add = [&](const char* name, ConvShape s) {
    s.nchw = nchw;
    const std::string layout = nchw ? "nchw " : "nhwc ";
    cases.push_back({layout + name, conv(s)});
    cases.push_back({layout + name + " dw", conv_weight_grad(s)});
    for (std::int64_t i = 0; s.dilation == 1 && i < s.stride * s.stride; ++i) {
      cases.push_back(
          {str(layout, name, " dx phase ", i), conv_input_grad(s, i / s.stride, i % s.stride)});
    }
  };
  add("3x3", {.n = 2, .h = 9, .w = 11, .c = 8, .o = 20});
  add("3x3 wide", {.n = 1, .h = 6, .w = 5, .c = 40, .o = 33});
  add("3x3 stride 2", {.n = 2, .h = 10, .w = 7, .c = 5, .o = 6, .stride = 2});
  add("3x3 dilated", {.n = 1, .h = 12, .w = 9, .c = 4, .o = 7, .pad = 2, .dilation = 2});
  add("1x1", {.n = 2, .h = 7, .w = 7, .c = 24, .o = 18, .kh = 1, .kw = 1, .pad = 0});
  add("1x1 stride 2",
      {.n = 2, .h = 7, .w = 8, .c = 9, .o = 8, .kh = 1, .kw = 1, .stride = 2, .pad = 0});
  add("7x7 stride 2",
      {.n = 1, .h = 23, .w = 21, .c = 3, .o = 16, .kh = 7, .kw = 7, .stride = 2, .pad = 3});
  add("2x3 grouped", {.n = 2, .h = 6, .w = 7, .c = 3, .o = 4, .kh = 2, .kw = 3, .groups = 3});
  add("depthwise", {.n = 1, .h = 8, .w = 8, .c = 1, .o = 1, .groups = 5});
  add("one pixel", {.n = 3, .h = 1, .w = 1, .c = 6, .o = 5});
  return cases;
}

/// The guessed blocks and small ones, so that even small problems have several of each.
std::vector<Variant> with_small_blocks(const std::vector<Variant>& guessed) {
  std::vector<Variant> all = guessed;
  for (Variant v : guessed) {
    v.kc = v.isa >= Isa::kAvx512Bf16 ? 64 : 24;
    v.mc = v.mr + 3;
    v.nc = v.nr;
    all.push_back(v);
  }
  return all;
}

void expect_all_right(const std::vector<Case>& cases, DType dtype) {
  unsigned seed = 1;
  for (Case c : cases) {
    c.problem.dtype = dtype;
    ++seed;
    const Reference ref(c.problem, seed, seed % 2 == 0);
    for (const Variant& v : with_small_blocks(variants(c.problem, detect_isa()))) {
      if (!accepts(c.problem, v)) continue;
      SCOPED_TRACE(to_text(v));
      expect_right(ref, Contract(c.problem, v), c.name);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Contract, MatmulsInF32) { expect_all_right(matmul_cases(), DType::f32); }
TEST(Contract, MatmulsInBf16) { expect_all_right(matmul_cases(), DType::bf16); }
TEST(Contract, MatmulsInF16) { expect_all_right(matmul_cases(), DType::f16); }
TEST(Contract, ConvolutionsInF32) {
  expect_all_right(conv_cases(false), DType::f32);
  expect_all_right(conv_cases(true), DType::f32);
}
TEST(Contract, ConvolutionsInBf16) {
  expect_all_right(conv_cases(false), DType::bf16);
  expect_all_right(conv_cases(true), DType::bf16);
}
TEST(Contract, ConvolutionsInF16) { expect_all_right(conv_cases(false), DType::f16); }

/// The kernels of another machine, with blocks for its caches and with small ones.
void expect_emulated_right(const std::vector<Case>& cases, DType dtype, Isa isa,
                           const Kernels& kernels) {
  unsigned seed = 100;
  for (Case c : cases) {
    c.problem.dtype = dtype;
    ++seed;
    const Reference ref(c.problem, seed, seed % 2 == 0);
    for (int i = 0; i < kernels.shape_count; ++i) {
      for (const bool swapped : {false, true}) {
        const Variant whole{isa, kernels.shapes[i].mr, kernels.shapes[i].nr, 512, 96, 256, swapped};
        for (const Variant& v : with_small_blocks({whole})) {
          SCOPED_TRACE(to_text(v));
          expect_right(ref, Contract(make_blocked(c.problem, v, kernels)), c.name);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Contract, Avx512ShapesEmulated) {
  for (const auto& cases : {matmul_cases(), conv_cases(false), conv_cases(true)}) {
    expect_emulated_right(cases, DType::f32, Isa::kAvx512, emulated_avx512_kernels());
  }
  expect_emulated_right(conv_cases(false), DType::bf16, Isa::kAvx512, emulated_avx512_kernels());
}

TEST(Contract, PairsOfBf16Emulated) {
  for (const auto& cases : {matmul_cases(), conv_cases(false), conv_cases(true)}) {
    expect_emulated_right(cases, DType::bf16, Isa::kAvx512Bf16, emulated_avx512bf16_kernels());
  }
}

TEST(Contract, AmxTilesEmulatedInBf16) {
  for (const auto& cases : {matmul_cases(), conv_cases(false), conv_cases(true)}) {
    expect_emulated_right(cases, DType::bf16, Isa::kAmx, emulated_amx_kernels());
  }
}

/// Convolutions whose channels fill tiles, forwards and backwards, with and without a border.
std::vector<Case> sliding_cases() {
  std::vector<Case> cases;
  const auto add = [&](const char* name, const ConvShape& s) {
    cases.push_back({name, conv(s)});
    if (s.o % 32 == 0 && s.stride == 1) {
      cases.push_back({str(name, " dx"), conv_input_grad(s, 0, 0)});
    }
  };
  add("3x3", {.n = 2, .h = 9, .w = 11, .c = 32, .o = 32});
  add("no border", {.n = 3, .h = 7, .w = 5, .c = 64, .o = 20, .pad = 0});
  add("wide border", {.n = 1, .h = 4, .w = 6, .c = 32, .o = 64, .pad = 2});
  add("one row", {.n = 2, .h = 1, .w = 40, .c = 32, .o = 9});
  add("one pixel", {.n = 3, .h = 1, .w = 1, .c = 32, .o = 70});
  add("stride 2", {.n = 2, .h = 9, .w = 12, .c = 32, .o = 20, .stride = 2});
  add("stride 2, no border", {.n = 1, .h = 8, .w = 7, .c = 64, .o = 33, .stride = 2, .pad = 0});
  add("stride 2, one row", {.n = 3, .h = 2, .w = 15, .c = 32, .o = 5, .stride = 2});
  add("deep", {.n = 1, .h = 5, .w = 4, .c = 512, .o = 33});
  return cases;
}

TEST(Contract, SlidingTilesEmulated) {
  unsigned seed = 300;
  const Kernels& kernels = emulated_amx_kernels();
  for (Case c : sliding_cases()) {
    c.problem.dtype = DType::bf16;
    ++seed;
    const Reference ref(c.problem, seed, seed % 2 == 0);
    for (const std::int64_t rows : {1, 2, 3, 64}) {
      for (const std::int64_t kc : {64, 512}) {
        Variant v{Isa::kAmx, 32, 32, kc, rows, rows == 2 ? 32 : 256};
        v.sliding = true;
        SCOPED_TRACE(to_text(v));
        EXPECT_EQ(variant_from_text(to_text(v)), v);
        ASSERT_TRUE(accepts_sliding(c.problem, v, kernels)) << c.name;
        const Contract contract(make_sliding(c.problem, v, kernels));
        expect_right(ref, contract, c.name);
        if (testing::Test::HasFatalFailure()) return;
        Variant blocked = v;
        blocked.sliding = false;
        blocked.mc = 96;
        EXPECT_EQ(run_once(ref, contract, 1, nullptr),
                  run_once(ref, Contract(make_blocked(c.problem, blocked, kernels)), 1, nullptr))
            << c.name << ": not the same bits as blocked";
      }
    }
  }
}

TEST(Contract, SlidingTilesRefuseTheRest) {
  Variant v{Isa::kAmx, 32, 32, 512, 4, 256};
  v.sliding = true;
  const auto refuses = [&](const ConvShape& s, DType dtype = DType::bf16) {
    Problem p = conv(s);
    p.dtype = dtype;
    return !accepts_sliding(p, v, emulated_amx_kernels());
  };
  EXPECT_FALSE(refuses({.n = 1, .h = 8, .w = 8, .c = 32, .o = 32}));
  EXPECT_TRUE(refuses({.n = 1, .h = 8, .w = 8, .c = 32, .o = 32}, DType::f16));
  EXPECT_TRUE(refuses({.n = 1, .h = 8, .w = 8, .c = 32, .o = 32}, DType::f32));
  EXPECT_TRUE(refuses({.n = 1, .h = 8, .w = 8, .c = 40, .o = 32}));
  EXPECT_TRUE(refuses({.n = 1, .h = 8, .w = 8, .c = 32, .o = 32, .stride = 3}));
  EXPECT_TRUE(refuses({.n = 1, .h = 9, .w = 9, .c = 32, .o = 32, .pad = 2, .dilation = 2}));
  EXPECT_TRUE(refuses({.n = 1, .h = 8, .w = 8, .c = 32, .o = 32, .groups = 2}));
  EXPECT_TRUE(refuses({.n = 1, .h = 8, .w = 8, .c = 32, .o = 32, .kh = 1, .kw = 1, .pad = 0}));
  EXPECT_TRUE(refuses({.n = 1, .h = 8, .w = 8, .c = 32, .o = 32, .nchw = true}));
  EXPECT_TRUE(refuses({.n = 0, .h = 8, .w = 8, .c = 32, .o = 32}));
  Problem p = conv({.n = 1, .h = 8, .w = 8, .c = 32, .o = 32});
  p.dtype = DType::bf16;
  EXPECT_FALSE(accepts_sliding(p, v, emulated_avx512bf16_kernels()));
}

/// One element of each operand that no sum of parts can stand for, by turns.
void expect_specials_right(DType dtype, const Kernels& kernels) {
  const double largest = dtype == DType::f16 ? 65504 : 0x1.fffffep127;
  for (const double special : {double(INFINITY), -double(INFINITY), double(NAN), largest}) {
    for (const bool in_a : {true, false}) {
      for (const bool swapped : {true, false}) {
        Problem p = matmul({.m = 70, .n = 41, .k = 90});
        p.dtype = dtype;
        Reference ref(p, 7, true);
        write(dtype, (in_a ? ref.a : ref.b)->data(), 33, special);
        ref.compute();
        const Variant v{Isa::kAmx, 32, 32, 64, 32, 32, swapped};
        const Contract contract(make_blocked(p, v, kernels));
        const std::vector<std::byte> c = run_once(ref, contract, 1, nullptr);
        for (std::size_t i = 0; i < ref.written.size(); ++i) {
          const double got = read(dtype, c.data(), static_cast<std::int64_t>(i));
          const double want = ref.want[i];
          if (std::isfinite(want) && std::abs(want) <= largest) {
            ASSERT_LE(std::abs(got - want), ref.bound[i]) << special << " at " << i;
          } else if (std::isnan(want)) {
            ASSERT_TRUE(std::isnan(got)) << special << " at " << i << ": " << got;
          } else {
            ASSERT_EQ(got, std::copysign(INFINITY, want)) << special << " at " << i;
          }
        }
      }
    }
  }
}

TEST(Contract, SplitTilesKeepInfinityAndNan) {
  expect_specials_right(DType::f16, emulated_amx_kernels());
  expect_specials_right(DType::f32, emulated_amx_kernels());
}

/// With weights of which some are infinite: infinite and NaN where the reference is, else near it.
void expect_infinities_right(const Reference& ref, const Contract& contract,
                             const std::string& name) {
  const DType dtype = ref.problem.dtype;
  const std::vector<std::byte> c = run_once(ref, contract, 1, nullptr);
  for (std::size_t i = 0; i < ref.written.size(); ++i) {
    if (!ref.written[i]) continue;
    const double got = read(dtype, c.data(), static_cast<std::int64_t>(i)), want = ref.want[i];
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << name << " at " << i << ": " << got;
    } else if (std::isinf(want)) {
      ASSERT_EQ(got, want) << name << " at " << i;
    } else {
      ASSERT_LE(std::abs(got - want), 4 * ref.bound[i]) << name << " at " << i << ": " << got;
    }
  }
  ASSERT_EQ(c, run_once(ref, contract, 2, nullptr)) << name << ": the order of tasks matters";
}

/// One weight of 37, all of one sign, as is what they meet: no result is NaN by definition.
Reference with_infinite_weights(Problem p, DType dtype, unsigned seed) {
  p.dtype = dtype;
  Reference ref(p, seed, seed % 2 == 0);
  const auto count = static_cast<std::int64_t>(ref.b->bytes() / size_of(dtype));
  for (std::int64_t i = count < 37 ? 0 : seed % 37; i < count; i += 37) {
    write(dtype, ref.b->data(), i, seed % 2 != 0 ? INFINITY : -INFINITY);
  }
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(ref.a->bytes() / size_of(dtype)); ++i) {
    write(dtype, ref.a->data(), i, 0.25 + std::abs(read(dtype, ref.a->data(), i)));
  }
  ref.compute();
  for (const double want : ref.want) EXPECT_FALSE(std::isnan(want));
  return ref;
}

/// Convolutions, forwards and transposed, without those by weights of gradients.
std::vector<Case> padded_cases() {
  std::vector<Case> cases;
  for (const bool nchw : {false, true}) {
    for (const Case& c : conv_cases(nchw)) {
      if (c.problem.guarded && !c.name.ends_with(" dw")) cases.push_back(c);
    }
  }
  return cases;
}

// Where the reference leaves terms out, infinity is not multiplied by the zero of the padding.
TEST(Contract, InfiniteWeightsDoNotMeetPadding) {
  int winograd = 0;
  unsigned seed = 400;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Case& c : padded_cases()) {
      const Reference ref = with_infinite_weights(c.problem, dtype, ++seed);
      for (const Variant& v : with_small_blocks(variants(ref.problem, detect_isa()))) {
        if (!accepts(ref.problem, v)) continue;
        SCOPED_TRACE(to_text(v));
        winograd += v.winograd;
        expect_infinities_right(ref, Contract(ref.problem, v), c.name);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(winograd, 0);
}

TEST(Contract, InfiniteWeightsDoNotMeetPaddingOnTilesEmulated) {
  const Kernels& kernels = emulated_amx_kernels();
  unsigned seed = 500;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Case& c : padded_cases()) {
      const Reference ref = with_infinite_weights(c.problem, dtype, ++seed);
      for (const bool swapped : {false, true}) {
        const Variant v{Isa::kAmx, 32, 32, 64, 35, 32, swapped};
        expect_infinities_right(ref, Contract(make_blocked(ref.problem, v, kernels)), c.name);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  for (const Case& c : sliding_cases()) {
    const Reference ref = with_infinite_weights(c.problem, DType::bf16, ++seed);
    Variant v{Isa::kAmx, 32, 32, 512, 2, 256};
    v.sliding = true;
    expect_infinities_right(ref, Contract(make_sliding(ref.problem, v, kernels)), c.name);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// 7 x 85 numbers in parts, as rows of the left operand or (85 of k x 7, padded) as a panel.
struct SplitNumbers {
  static constexpr std::int64_t kRows = 7, kCols = 85, kLd = 96, kPanel = 16, kPlane = kLd * kPanel;
  std::vector<float> numbers = std::vector<float>(kLd * kPanel, 0.0f);
  std::vector<std::uint16_t> parts = std::vector<std::uint16_t>(kMostParts * kPlane, 0xdead);

  std::int64_t at(bool panel, std::int64_t row, std::int64_t k) const {
    return panel ? k * kPanel + row : row * kLd + k;
  }
  bool split(const Kernels& kernels, bool panel, int count) {
    const SplitArgs args{numbers.data(),
                         panel ? kPanel : kLd,
                         panel ? kCols : kRows,
                         panel ? kPanel : kCols,
                         parts.data(),
                         kLd,
                         kPlane,
                         count};
    return (panel ? kernels.split_panel : kernels.split_rows)(args);
  }
  /// Of the pairs of each 32 of k the first is the one of its lower half.
  double sum_of_parts(bool panel, int count, std::int64_t row, std::int64_t k) const {
    const std::int64_t pair = k / 32 * 16 + k % 16, odd = k % 32 / 16;
    const std::int64_t first =
        panel ? pair * kPanel * 2 + row * 2 + odd : row * kLd + pair * 2 + odd;
    double sum = 0;
    for (int i = 0; i < count; ++i) {
      sum += bf16_value(parts[static_cast<std::size_t>(i * kPlane + first)]);
    }
    return sum;
  }
};

void expect_exact_parts(const Kernels& kernels) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> mantissa(1, 2);
  for (const bool panel : {false, true}) {
    for (const int count : {2, 3}) {
      SplitNumbers s;
      for (std::int64_t row = 0; row < s.kRows; ++row) {
        for (std::int64_t k = 0; k < s.kCols; ++k) {
          float x = std::ldexp(mantissa(random), static_cast<int>(random() % 200) - 80);
          if (count == 2) x = static_cast<float>(f16_value(f16_bits(std::fmod(x, 60000.0f))));
          s.numbers[static_cast<std::size_t>(s.at(panel, row, k))] = random() % 2 != 0 ? x : -x;
        }
      }
      ASSERT_TRUE(s.split(kernels, panel, count));
      for (std::int64_t row = 0; row < s.kRows; ++row) {
        for (std::int64_t k = 0; k < 96; ++k) {  // zeros behind the last
          const float want =
              k < s.kCols ? s.numbers[static_cast<std::size_t>(s.at(panel, row, k))] : 0;
          ASSERT_EQ(s.sum_of_parts(panel, count, row, k), want)
              << panel << " " << count << " at " << row << ", " << k;
        }
      }
      for (const float special : {INFINITY, -INFINITY, NAN, -NAN, 0x1.fffffep127f}) {
        SplitNumbers t = s;
        t.numbers[static_cast<std::size_t>(s.at(panel, 6, 84))] = special;
        EXPECT_FALSE(t.split(kernels, panel, count)) << special;
      }
    }
  }
}

TEST(Contract, PartsSumToTheNumber) {
  expect_exact_parts(emulated_amx_kernels());
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512vl")) {
    GTEST_SKIP() << "no AVX512-BF16 here";
  }
  expect_exact_parts(amx_kernels());
#endif
}

TEST(Contract, AmxTilesEmulatedInF32) {
  for (const auto& cases : {matmul_cases(), conv_cases(false), conv_cases(true)}) {
    expect_emulated_right(cases, DType::f32, Isa::kAmx, emulated_amx_kernels());
  }
}

TEST(Contract, AmxTilesEmulatedInF16) {
  for (const auto& cases : {matmul_cases(), conv_cases(false), conv_cases(true)}) {
    expect_emulated_right(cases, DType::f16, Isa::kAmx, emulated_amx_kernels());
  }
}

}  // namespace
}  // namespace plait::cpu
