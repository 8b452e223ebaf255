// The interpreter of kernels against results worked out by hand: rounding, stages, columns, loaded
// indices, guards, epilogues; and what it refuses.
#include "loop/interpret_kernel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/array.h"
#include "loop/kernel_text.h"
#include "tests/raises.h"

namespace plait::loop {
namespace {

/// A kernel's buffers, and a run of it.
class Running {
 public:
  explicit Running(std::vector<Array> arrays) : arrays_(std::move(arrays)) {
    for (Array& a : arrays_) run_.buffers.push_back({a.data(), a.byte_count()});
  }
  Faults kernel(const char* text) { return interpret(parse_kernel(text), run_); }
  Faults product(const char* text, const char* epilogue = nullptr) {
    if (!epilogue) return interpret(parse_contraction(text), nullptr, run_);
    const Kernel k = parse_kernel(epilogue);
    return interpret(parse_contraction(text), &k, run_);
  }
  std::vector<double> result(std::size_t which) const {
    std::vector<double> out;
    for (std::int64_t i = 0; i < arrays_[which].count(); ++i) out.push_back(arrays_[which].real(i));
    return out;
  }
  KernelRun& run() { return run_; }

 private:
  std::vector<Array> arrays_;
  KernelRun run_;
};

using Reals = std::vector<double>;

Array numbers(DType t, const Reals& values) {
  return Array::of(t, {static_cast<std::int64_t>(values.size())}, values);
}
Array room(DType t, std::int64_t count) { return Array(t, {count}); }

TEST(InterpretKernel, EveryStatementIsRounded) {
  Running r({numbers(DType::bf16, {1.0, 3.0}), room(DType::bf16, 2), room(DType::f32, 2),
             room(DType::i8, 2)});
  EXPECT_EQ(r.kernel(R"(kernel inner($i: 2) {
    b0: bf16
    b1: bf16 written
    b2: f32 written
    b3: i8 written
    inner v0: bf16 = div(x0,3.0) with x0 = b0[$i]
    inner v1: f32 = mul(x0,3.0) with x0 = v0
    inner v2: f32 in f64 = div(x0,3.0) with x0 = b0[$i]
    inner v3: i8 in f32 = mul(x0,100.5) with x0 = b0[$i]
    b1[$i] = v0
    b2[$i] = v1
    b3[$i] = v3
  })"),
            Faults{});
  const auto third = static_cast<double>(static_cast<float>(bf16(1.0 / 3.0)));
  EXPECT_EQ(r.result(1), (Reals{third, 1}));
  EXPECT_EQ(r.result(2), (Reals{3 * third, 3}));
  EXPECT_EQ(r.result(3), (Reals{100, 127}));  // towards zero, saturated
}

TEST(InterpretKernel, StagesReadWhatEarlierOnesReduced) {
  Running r({numbers(DType::f32, {1, 2, 5, 4, 4, 4}), room(DType::f32, 6), room(DType::f32, 2)});
  r.kernel(R"(kernel rows($r: 2) inner($i: 3) {
    b0: f32
    b1: f32 written
    b2: f32 written
    inner kept v0: f32 = mul(x0,2.0) with x0 = b0[3*$r+$i]
    inner v1: f32 = max of x0 with x0 = v0
    stage 1
    inner v2: f32 = sub(x0,x1) with x0 = v0, x1 = v1
    inner v3: f32 = sum of x0 then div(acc,[$r+1]) with x0 = v2
    b1[3*$r+$i] = v2
    b2[$r] = v3
  })");
  EXPECT_EQ(r.result(1), (Reals{-8, -6, 0, 0, 0, 0}));
  EXPECT_EQ(r.result(2), (Reals{-14, 0}));
}

TEST(InterpretKernel, ColumnsAreKnownBehindAllRows) {
  Running r({numbers(DType::i32, {1, 2, 3, 4, 5, 6}), room(DType::i32, 2), room(DType::i32, 1)});
  r.kernel(R"(kernel rows($r: 3) inner($i: 2) {
    b0: i32
    b1: i32 written
    b2: i32 written
    inner v0: i32 = column prod of x0 then add(acc,[$i]) with x0 = b0[2*$r+$i]
    row v1: i32 = column sum of [$r] with x0 = 0.0
    b1[$i] = v0
    b2[0] = v1
  })");
  EXPECT_EQ(r.result(1), (Reals{15, 49}));
  EXPECT_EQ(r.result(2), (Reals{3}));
}

/// 2^24 and 1s: in f32 alone each 1 is lost, block by block it is not.
TEST(InterpretKernel, LongSumsAreMadeOfBlocks) {
  const std::int64_t n = 4096;
  Reals values(static_cast<std::size_t>(n), 1);
  values[0] = 0x1p24;
  Running row({numbers(DType::f32, values), room(DType::f32, 1)});
  row.kernel(R"(kernel inner($i: 4096) {
    b0: f32
    b1: f32 written
    inner v0: f32 = sum of x0 with x0 = b0[$i]
    b1[0] = v0
  })");
  EXPECT_EQ(row.result(1), (Reals{0x1p24 + 3 * 1024}));
  Running column({numbers(DType::f32, values), room(DType::f32, 1)});
  column.kernel(R"(kernel rows($r: 4096) {
    b0: f32
    b1: f32 written
    row v0: f32 = column sum of x0 with x0 = b0[$r]
    b1[0] = v0
  })");
  EXPECT_EQ(column.result(1), (Reals{0x1p24 + 15 * 256}));
}

TEST(InterpretKernel, LoadedIndicesAndDivisionsThatFailAreReported) {
  const char* text = R"(kernel rows($r: 3) {
    b0: i64
    b1: i32
    b2: i32 written
    row v0: i64 as $g0: 2 = x0 with x0 = b0[$r]
    row v1: i32 = fdiv(10.0,x0) with x0 = b1[$g0]
    b2[$r] = v1
  })";
  Running fine({numbers(DType::i64, {1, 0, 1}), numbers(DType::i32, {3, -4}), room(DType::i32, 3)});
  EXPECT_EQ(fine.kernel(text), Faults{});
  EXPECT_EQ(fine.result(2), (Reals{-3, 3, -3}));
  Running bad({numbers(DType::i64, {1, 2, -1}), numbers(DType::i32, {5, 0}), room(DType::i32, 3)});
  EXPECT_EQ(bad.kernel(text), (Faults{.index = true, .division = true}));
  EXPECT_EQ(bad.result(2), (Reals{0, 2, 2}));
}

TEST(InterpretKernel, GuardsKeepLoadsInTheirBuffers) {
  Running r({numbers(DType::f16, {1, 2, 3}), room(DType::f16, 5), room(DType::boolean, 5)});
  r.kernel(R"(kernel inner($i: 5) {
    b0: f16
    b1: f16 written
    b2: bool written
    inner v0: f16 = max(x0,x1) with x0 = b0[$i-1] if 1 <= $i < 4 else -inf,
      x1 = b0[$i-2] if 0 <= $i-2 < 3 else 0.25
    inner v1: bool in f32 = lt(x0,x1) with x0 = v0 if 0 <= $i < 4, x1 = 0.5
    b1[$i] = v0
    b2[$i] = v1
  })");
  EXPECT_EQ(r.result(1), (Reals{0.25, 1, 2, 3, 3}));
  EXPECT_EQ(r.result(2), (Reals{1, 0, 0, 0, 1}));
}

TEST(InterpretKernel, SizesMayBeSymbols) {
  Running r({numbers(DType::f64, {1, 2, 3, 4, 5, 6}), room(DType::f64, 3)});
  r.run().sizes = {{"n", Dim(3)}};
  r.kernel(R"(symbol n = 1..64
  kernel rows($r: n) inner($i: 2) {
    b0: f64
    b1: f64 written
    inner v0: f64 = sum of x0 with x0 = b0[$i*n+$r]
    b1[$r] = v0
  })");
  EXPECT_EQ(r.result(1), (Reals{5, 7, 9}));
}

TEST(InterpretKernel, AContractionAndWhatFollowsIt) {
  const char* product = "contraction f32 { m 2: a=2, c=2  n 2: b=1, c=1  k 2: a=1, b=2 }";
  Running bare(
      {numbers(DType::f32, {1, 2, 3, 4}), numbers(DType::f32, {5, 6, 7, 8}), room(DType::f32, 4)});
  bare.product(product);
  EXPECT_EQ(bare.result(2), (Reals{19, 22, 43, 50}));
  Running behind({numbers(DType::f32, {1, 2, 3, 4}), numbers(DType::f32, {5, 6, 7, 8}),
                  numbers(DType::f32, {-20, 1}), room(DType::f32, 4)});
  behind.product(product, R"(epilogue rows($m: 2) inner($n: 2) {
    b0: f32
    b1: f32 written
    inner v0: f32 = max(add(x0,x1),0.0) with x0 = tile, x1 = b0[$n]
    b1[2*$n+$m] = v0
  })");
  EXPECT_EQ(behind.result(3), (Reals{0, 23, 23, 51}));
}

/// Each row of the image is a row of the result; its neighbours beyond the border are left out,
/// although what stands there is infinite.
TEST(InterpretKernel, GuardedTermsAreLeftOut) {
  Running r({numbers(DType::f32, {INFINITY, 1, 2, 4, INFINITY}), numbers(DType::f32, {1, 10, 100}),
             room(DType::f32, 3)});
  r.product(R"(contraction f32 {
    m 3: a = 1, c = 1, h = 1
    n 1
    k 3: a = 1, b = 1, h = 1
    origin: h = -1
    image: h = 3, w = 1
  })");
  EXPECT_EQ(r.result(2), (Reals{210, 421, 42}));
}

// --- what it refuses -----------------------------------------------------------------------------

TEST(InterpretKernel, MemoryBesideABufferIsABug) {
  const auto message = [](const char* text) {
    Running r({numbers(DType::f32, {1, 2, 3, 4, 5, 6}), room(DType::f32, 6)});
    r.run().name = "k_row_1";
    return test::message_of<Bug>([&] { r.kernel(text); });
  };
  EXPECT_EQ(message(R"(kernel rows($r: 2) inner($i: 4) {
    b0: f32
    b1: f32 written
    inner v0: f32 = x0 with x0 = b0[4*$r+$i]
    b1[0] = v0
  })"),
            "k_row_1: v0 reads b0[6] of 6 elements at $r = 1, $i = 2");
  EXPECT_EQ(message(R"(kernel rows($r: 2) inner($i: 3) {
    b0: f32
    b1: f32 written
    inner v0: f32 = x0 with x0 = b0[$i]
    b1[$i-$r] = v0
  })"),
            "k_row_1: v0 is stored in b1[-1] of 6 elements at $r = 1, $i = 0");
  Running r({numbers(DType::f32, {1, 2}), numbers(DType::f32, {1, 2}), room(DType::f32, 1)});
  EXPECT_EQ(
      test::message_of<Bug>([&] { r.product("contraction f32 { m 1 n 1 k 2: a = 1, b = 2 }"); }),
      "kernel: the contraction reads b[2] of 2 elements");
}

TEST(InterpretKernel, ValuesThatAreNotKnownAreABug) {
  const auto message = [](const std::string& lines) {
    Running r({numbers(DType::f32, {1, 2}), room(DType::f32, 2)});
    const std::string text =
        "kernel rows($r: 1) inner($i: 2) {\n b0: f32\n b1: f32 written\n" + lines + "}\n";
    const std::string whole = test::message_of<Bug>([&] { r.kernel(text.c_str()); });
    return whole.substr(0, whole.find(" (loop/"));
  };
  const std::string load = "inner v0: f32 = x0 with x0 = b0[$i]\n";
  EXPECT_EQ(message(load + "stage 1 inner v1: f32 = x0 with x0 = v0\nb1[$i] = v1\n"),
            "kernel: v1 reads v0 of stage 0, which is not kept");
  EXPECT_EQ(message(load + "inner v1: f32 = sum of x0 with x0 = v0\n"
                           "inner v2: f32 = x0 with x0 = v1\nb1[$i] = v2\n"),
            "kernel: v2 reads v1, which is not known there");
  EXPECT_EQ(message(load + "b0[$i] = v0\n"),
            "kernel: v0, of f32, cannot be stored in b0, of f32, which is not written");
  EXPECT_EQ(message("inner v0: f16 = x0 with x0 = b0[$i]\nb1[$i] = v0\n"),
            "kernel: v0, of f16, cannot be stored in b1, of f32");
}

TEST(InterpretKernel, WhatIsReducedCanBeMoved) {
  Running r({numbers(DType::f32, {1, -2, 3}), room(DType::f32, 1)});
  std::vector<Reduced> seen;
  r.run().reduced = [&](const Reduced& s) {
    seen.push_back(s);
    return s.value + 0.5;
  };
  r.run().rounded = [](int let, double value) { return let == 0 ? 2 * value : value; };
  r.kernel(R"(kernel inner($i: 3) {
    b0: f32
    b1: f32 written
    inner v0: f32 = x0 with x0 = b0[$i]
    inner v1: f32 = sum of x0 with x0 = v0
    b1[0] = v1
  })");
  EXPECT_EQ(r.result(1), (Reals{4.5}));
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].let, 1);
  EXPECT_EQ(seen[0].terms, 3);
  EXPECT_EQ(seen[0].size, 12);
}

}  // namespace
}  // namespace plait::loop
