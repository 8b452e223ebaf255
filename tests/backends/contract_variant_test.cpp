// Variants of the contraction engine: their text, who accepts what, the order of the guesses, and
// that the bits of a result belong to the kernel id and not to how the work is cut.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "tests/backends/contract_check.h"
#include "tests/raises.h"

namespace plait::cpu {
namespace {

TEST(ContractVariant, TextRoundTrips) {
  const Variant v{Isa::kAvx512, 14, 32, 192, 98, 512, true};
  EXPECT_EQ(to_text(v), "avx512 14x32 kc192 mc98 nc512 swapped");
  EXPECT_EQ(variant_from_text(to_text(v)), v);
  const Variant w{Isa::kAvx2, 6, 16, 64, 3, 32, true, false, true};
  EXPECT_EQ(to_text(w), "avx2 6x16 kc64 mc3 nc32 swapped winograd");
  EXPECT_EQ(variant_from_text(to_text(w)), w);
  for (const Variant& each : variants(matmul({.m = 40, .n = 50, .k = 60}), Isa::kAmx)) {
    EXPECT_EQ(variant_from_text(to_text(each)), each);
  }
}

TEST(ContractVariant, WhatIsUsedOnceIsPackedWhereItIsUsed) {
  const Problem few = matmul({.m = 4, .n = 4096, .k = 512});
  EXPECT_TRUE(variants(few, detect_isa()).front().inside ||
              variants(few, detect_isa()).front().swapped);
  EXPECT_EQ(Contract(few, variants(few, detect_isa()).front()).packed_bytes(), 0);
  for (const Variant& v : variants(few, detect_isa(), true)) EXPECT_FALSE(v.inside);
  const Problem many = matmul({.m = 4096, .n = 256, .k = 512});
  EXPECT_FALSE(variants(many, detect_isa()).front().inside);
}

TEST(ContractVariant, OtherTextIsRefused) {
  for (const char* text : {"", "avx2", "avx2 6x16 kc256 mc96", "sse 6x16 kc256 mc96 nc512",
                           "avx2 6x16 kc0 mc96 nc512", "avx2 6x16 kc256 mc96 nc512 twice"}) {
    EXPECT_THROW(variant_from_text(text), UserError) << text;
  }
}

TEST(ContractVariant, RefusalsSayWhy) {
  const Problem f32 = matmul({.m = 4, .n = 4, .k = 4});
  Problem f64 = f32;
  f64.dtype = DType::f64;
  const Variant portable{Isa::kPortable, 6, 8, 64, 48, 64, false};
  EXPECT_TRUE(accepts(f32, portable));
  EXPECT_EQ(accepts(f64, portable).why, "dtype f64 is not f32, bf16 or f16");
  setenv("PLAIT_CPU_F32_TILES", "0", 1);
  EXPECT_EQ(accepts(f32, {Isa::kAmx, 32, 32, 512, 96, 256, false}).why,
            "PLAIT_CPU_F32_TILES=0 keeps f32 from amx");
  unsetenv("PLAIT_CPU_F32_TILES");
  EXPECT_EQ(accepts(f32, {Isa::kAvx512Bf16, 14, 32, 384, 98, 256, false}).why,
            "avx512bf16 multiplies bf16 only, the operands are f32");
  EXPECT_EQ(accepts(f32, {Isa::kPortable, 5, 8, 64, 48, 64, false}).why, "portable has no 5x8");
  EXPECT_EQ(accepts(f32, {Isa::kPortable, 6, 8, 64, 0, 64, false}).why, "a block size is below 1");
  EXPECT_THROW(Contract(f64, portable), Bug);
}

TEST(ContractVariant, EnvironmentLowersTheInstructionSet) {
  const Isa machine = detect_isa();
  setenv("PLAIT_CPU_ISA", "portable", 1);
  EXPECT_EQ(detect_isa(), Isa::kPortable);
  const Problem p = matmul({.m = 4, .n = 4, .k = 4});
  EXPECT_EQ(accepts(p, {Isa::kAvx2, 6, 16, 64, 48, 64, false}).why, "this machine offers portable");
  setenv("PLAIT_CPU_ISA", "amx", 1);
  EXPECT_EQ(detect_isa(), machine);
  setenv("PLAIT_CPU_ISA", "AVX2", 1);
  EXPECT_THROW(detect_isa(), UserError);
  unsetenv("PLAIT_CPU_ISA");
}

TEST(ContractVariant, GuessesBeginWithWhatIsAccepted) {
  Problem p = conv({.n = 1, .h = 14, .w = 14, .c = 32, .o = 32});
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    p.dtype = dtype;
    bool accepted = true;
    for (const Variant& v : variants(p, Isa::kAmx)) {
      const bool now = accepts(p, v).yes;
      EXPECT_TRUE(accepted || !now) << to_text(v) << " comes after one that is refused";
      accepted = now;
    }
    EXPECT_TRUE(accepts(p, variants(p, detect_isa()).front()));
  }
}

TEST(ContractVariant, BitsBelongToTheKernelId) {
  for (const Problem& p :
       {matmul({.m = 61, .n = 75, .k = 333}), conv({.n = 2, .h = 9, .w = 8, .c = 17, .o = 30}),
        conv_weight_grad({.n = 2, .h = 9, .w = 8, .c = 17, .o = 30})}) {
    const Reference ref(p, 5, true);
    Variant v = variants(p, detect_isa()).front();
    v.kc = 40;
    const std::vector<std::byte> first = run_once(ref, Contract(p, v), 1, nullptr);
    for (const std::int64_t mc : {7, 24, 500}) {
      for (const std::int64_t nc : {16, 48, 500}) {
        for (const bool swapped : {false, true}) {
          v.mc = mc;
          v.nc = nc;
          v.swapped = swapped;
          EXPECT_EQ(first, run_once(ref, Contract(p, v), 2, nullptr)) << to_text(v);
        }
      }
    }
  }
}

TEST(ContractVariant, WorkIsCutBySizesIntoAtMostSixtyFourTasks) {
  const auto tasks = [](const MatmulShape& s) {
    const Problem p = matmul(s);
    return Contract(p, variants(p, detect_isa()).front()).tasks();
  };
  EXPECT_EQ(tasks({.m = 16, .n = 16, .k = 16}), 1);
  EXPECT_EQ(tasks({.m = 16, .n = 16, .k = 16, .batch = 8}), 1);
  EXPECT_EQ(tasks({.m = 0, .n = 16, .k = 16}), 0);
  EXPECT_GE(tasks({.m = 1024, .n = 1024, .k = 1024}), 8);
  EXPECT_LE(tasks({.m = 1 << 20, .n = 1024, .k = 64}), 64);
}

TEST(ContractVariant, NonFiniteValuesPass) {
  const float inf = std::numeric_limits<float>::infinity();
  const float a[] = {inf, 1, 2, 3}, b[] = {1, 0.5f};
  float c[] = {7, 7};
  Problem p = matmul({.m = 2, .n = 1, .k = 2});
  for (const Variant& v : variants(p, detect_isa())) {
    if (!accepts(p, v)) continue;
    const Contract contract(p, v);
    Fenced packed(contract.packed_bytes(), true), scratch(contract.scratch_bytes(), true);
    for (std::int64_t i = 0; i < contract.pack_tasks(); ++i) {
      contract.pack(i, a, b, packed.data(), scratch.data());
    }
    ASSERT_EQ(contract.tasks(), 1);
    contract.run(0, a, b, packed.data(), c, nullptr, nullptr, scratch.data());
    EXPECT_EQ(c[0], inf);
    EXPECT_EQ(c[1], 3.5f);
  }
}

/// Sizes from a list of awkward ones; every layout.
Problem random_problem(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<std::int64_t> from) {
    return *(from.begin() + random() % from.size());
  };
  const auto flip = [&] { return random() % 2 == 0; };
  if (flip()) {
    return matmul({.m = pick({1, 5, 6, 7, 48, 97}),
                   .n = pick({1, 8, 15, 16, 17, 100}),
                   .k = pick({0, 1, 7, 64, 129}),
                   .batch = pick({1, 2, 5}),
                   .a_turned = flip(),
                   .b_turned = flip(),
                   .c_turned = flip(),
                   .share_a = flip(),
                   .share_b = flip(),
                   .slack = pick({0, 1, 13})});
  }
  const ConvShape s{.n = pick({1, 3}),
                    .h = pick({4, 5, 9}),
                    .w = pick({4, 7, 16}),
                    .c = pick({1, 3, 8, 19}),
                    .o = pick({1, 4, 16, 21}),
                    .kh = pick({1, 2, 3}),
                    .kw = pick({1, 3, 4}),
                    .stride = pick({1, 2}),
                    .pad = pick({0, 1, 2}),
                    .groups = pick({1, 2}),
                    .nchw = flip()};
  switch (random() % 3) {
    case 0:
      return conv(s);
    case 1:
      return conv_weight_grad(s);
    default:
      return conv_input_grad(s, static_cast<std::int64_t>(random()) % s.stride,
                             static_cast<std::int64_t>(random()) % s.stride);
  }
}

TEST(ContractVariant, RandomProblems) {
  std::mt19937 random(2024);
  for (int i = 0; i < 200; ++i) {
    Problem p = random_problem(random);
    p.dtype = i % 4 == 0 ? DType::bf16 : i % 4 == 1 ? DType::f16 : DType::f32;
    const std::vector<Variant> all = variants(p, detect_isa(), i % 2 == 0);
    const Variant v = all[random() % all.size()];
    if (!accepts(p, v)) continue;
    SCOPED_TRACE(str("problem ", i, ", ", to_text(v)));
    expect_right(Reference(p, static_cast<unsigned>(i), i % 3 == 0), Contract(p, v), "random");
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace plait::cpu
