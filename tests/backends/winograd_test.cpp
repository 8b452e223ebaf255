// Winograd's convolutions against plain sums: every size of image and window, borders of any width,
// gradients, blocks of any size, on this machine's vectors, on plain ones and on emulated AVX-512.
#include "backends/cpu/contract/winograd.h"

#include "tests/backends/contract_check.h"
#include "tests/backends/contract_emulated.h"

namespace plait::cpu {
namespace {

struct Direction {
  Problem problem;
  bool swapped;
  std::string name;
};

std::vector<Direction> directions(const ConvShape& s) {
  return {{conv(s), false, "forward"},
          {conv_weight_grad(s), true, "weights"},
          {conv_input_grad(s, 0, 0), false, "input"}};
}

/// The guessed blocks, and ones so small that everything has several.
std::vector<Variant> blocks(const Problem& p, Isa isa, const Kernels& kernels, bool swapped) {
  std::vector<Variant> all;
  for (int i = 0; i < kernels.shape_count; ++i) {
    WinogradGuess guess;
    const Decision decision = guess_winograd(p, isa, kernels, i, swapped, i == 0, guess);
    EXPECT_TRUE(decision) << decision.why;
    all.push_back(guess.variant);
    Variant v = guess.variant;
    v.kc = swapped ? 3 : 8;
    v.mc = swapped ? 16 : 1;
    v.nc = v.nr;
    all.push_back(v);
  }
  return all;
}

void expect_all_right(const ConvShape& s, unsigned seed, Isa isa, const Kernels& kernels) {
  for (const Direction& d : directions(s)) {
    const Reference ref(d.problem, seed, seed % 2 == 0);
    for (const Variant& v : blocks(d.problem, isa, kernels, d.swapped)) {
      SCOPED_TRACE(str(d.name, ": ", to_text(v), ", image ", s.n, "x", s.h, "x", s.w, "x", s.c,
                       ", ", s.o, " filters, border ", s.pad));
      expect_right(ref, Contract(make_winograd(d.problem, v, kernels)), d.name);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

std::vector<ConvShape> shapes() {
  std::vector<ConvShape> all;
  for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 9}) {
    all.push_back({.n = 2, .h = size, .w = 10 - size, .c = 16, .o = 32, .pad = 1});
  }
  all.push_back({.n = 1, .h = 6, .w = 7, .c = 48, .o = 16, .pad = 0});
  all.push_back({.n = 3, .h = 5, .w = 6, .c = 32, .o = 48, .pad = 2});
  return all;
}

TEST(Winograd, OnThisMachine) {
  const Isa isa = std::min(detect_isa(), Isa::kAvx512);
  unsigned seed = 1;
  for (const ConvShape& s : shapes()) expect_all_right(s, ++seed, isa, kernels_of(isa));
}

TEST(Winograd, OnAnyMachine) {
  unsigned seed = 50;
  for (const ConvShape& s : shapes()) {
    expect_all_right(s, ++seed, Isa::kPortable, kernels_of(Isa::kPortable));
  }
}

TEST(Winograd, Avx512Emulated) {
  unsigned seed = 90;
  for (const ConvShape& s : shapes()) {
    expect_all_right(s, ++seed, Isa::kAvx512, emulated_avx512_kernels());
  }
}

TEST(Winograd, SaysWhatItDoesNotTake) {
  const Kernels& kernels = kernels_of(Isa::kPortable);
  const Variant forward{.isa = Isa::kPortable, .mr = 6, .nr = 8, .winograd = true};
  const auto why = [&](const ConvShape& s, DType dtype = DType::f32) {
    Problem p = conv(s);
    p.dtype = dtype;
    return accepts_winograd(p, forward, kernels).why;
  };
  const std::string other = "it is not a convolution of 3x3 with stride 1 or 2";
  EXPECT_EQ(why({.n = 1, .h = 8, .w = 8, .c = 16, .o = 16}), "");
  EXPECT_EQ(why({.n = 1, .h = 8, .w = 8, .c = 16, .o = 16, .stride = 2}), "its stride is 2");
  EXPECT_EQ(why({.n = 1, .h = 8, .w = 8, .c = 16, .o = 16, .kh = 5, .kw = 5, .pad = 2}), other);
  EXPECT_EQ(why({.n = 1, .h = 9, .w = 9, .c = 16, .o = 16, .pad = 2, .dilation = 2}), other);
  EXPECT_EQ(why({.n = 1, .h = 8, .w = 8, .c = 6, .o = 16}),
            "its 6 channels do not fill vectors of 4");
  EXPECT_EQ(why({.n = 1, .h = 8, .w = 8, .c = 16, .o = 16}, DType::bf16),
            "Winograd's sums want f32");
  EXPECT_EQ(why({.n = 1, .h = 9, .w = 5, .c = 16, .o = 16}), "its images of 9x5 are mostly border");
  EXPECT_EQ(accepts_winograd(matmul({.m = 9, .n = 9, .k = 9}), forward, kernels).why, other);
  setenv("PLAIT_CPU_WINOGRAD", "0", 1);
  EXPECT_EQ(why({.n = 1, .h = 8, .w = 8, .c = 16, .o = 16}),
            "PLAIT_CPU_WINOGRAD=0 turns Winograd off");
  unsetenv("PLAIT_CPU_WINOGRAD");
}

}  // namespace
}  // namespace plait::cpu
