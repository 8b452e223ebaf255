// Epilogues that read and write the same places, several rows of a tile at once: to the bit what
// the rounded product gives.
#include "codegen/cuda/product_element.h"

#include "tests/codegen/cuda_product_check.h"

namespace plait::codegen::cuda {
namespace {

using Operand = loop::KernelOperand;

constexpr std::int64_t kM = 200, kN = 136, kK = 320;

/// How the step of a row is found: the call's, a row's, or a row's by a loaded index.
enum class Step { kCall, kRow, kLoaded };

/// v = 0.75 v + 0.25 sum; p = p - step v. Buffers: v, v (written), p, p (written), steps, indices.
loop::Kernel update(Step step) {
  loop::Kernel k;
  k.epilogue = true;
  k.rows = {{"$m", kM}};
  k.inner = {{"$n", kN}};
  k.buffers = {{DType::f32, false}, {DType::f32, true},  {DType::f32, false},
               {DType::f32, true},  {DType::f32, false}, {DType::i64, false}};
  const Dim m = Dim::symbol("$m", 0, kM - 1), n = Dim::symbol("$n", 0, kN - 1);
  const Dim place = m * kN + n;
  const loop::Expr x = loop::Expr::load(0), y = loop::Expr::load(1), z = loop::Expr::load(2);
  const auto let = [&](DType dtype, loop::Expr body, std::vector<Operand> operands) {
    k.lets.push_back({.dtype = dtype, .body = body, .operands = operands});
    return Operand{.kind = Operand::kLet, .let = static_cast<int>(k.lets.size()) - 1};
  };
  const auto load = [](int buffer, const Dim& offset) {
    return Operand{.kind = Operand::kLoad, .load = {buffer, offset}};
  };
  if (step == Step::kLoaded) {
    let(DType::i64, x, {load(5, m)});
    k.lets[0].compute = DType::i64;
    k.lets[0].level = loop::Level::kRow;
    k.lets[0].index = "$g0";
    k.lets[0].index_extent = kM;
  }
  const Operand sum = let(DType::bf16, x, {{.kind = Operand::kTile}});
  const Operand v =
      let(DType::f32, loop::Expr(0.75) * x + loop::Expr(0.25) * y, {load(0, place), sum});
  const Dim at = step == Step::kCall  ? Dim(0)
                 : step == Step::kRow ? m
                                      : Dim::symbol("$g0", 0, kM - 1);
  const Operand p = let(DType::f32, x - y * z, {load(2, place), load(4, at), v});
  k.stores = {{v.let, 1, place}, {p.let, 3, place}};
  return k;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

TEST(CudaProductElement, StatesAreUpdatedInPlace) {
  const auto device = test::device_under_test();
  Problem problem = cpu::matmul({.m = kM, .n = kN, .k = kK, .a_turned = true});
  problem.dtype = DType::bf16;
  const Expected expected(problem, false, 3);
  const loop::Contraction contraction = contraction_of(problem);
  std::vector<float> v(kM * kN), p(kM * kN), steps(kM);
  std::vector<std::int64_t> indices(kM);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i % 97) / 8;
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = static_cast<float>(i % 89) / 16;
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<float>(i + 1) / 64;
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int>(i * 7 % kM);
  const OnDevice a(*device, expected.a, "a"), b(*device, expected.b, "b");
  const OnDevice s(*device, bytes_of(steps), "steps"), g(*device, bytes_of(indices), "indices");
  std::vector<std::string> variants{"128x256x64.wg.s4", "64x128x64.wg.s4.g2", "128x128x64.wg.s3.k2",
                                    "64x64x64.mma.s4", "128x32x64.mma.s4"};
  const bool pairs = device->has_pairs();
  if (pairs) variants.push_back("128x128x64.pair.s4");
  for (const std::string& variant : variants) {
    const Printed bare = print_product(contraction, nullptr, true, {false, variant, pairs});
    const OnDevice c(*device, std::vector<std::byte>(kM * kN * 2), "c");
    launch(*device, *device->compile({unit_header() + bare.text}).modules[0], bare,
           {a.word(), b.word(), c.word()}, {});
    const std::vector<std::byte> product = c.read();
    for (const Step step : {Step::kCall, Step::kRow, Step::kLoaded}) {
      const loop::Kernel epilogue = update(step);
      const Printed whole = print_product(contraction, &epilogue, true, {false, variant, pairs});
      const OnDevice on_v(*device, bytes_of(v), "v"), on_p(*device, bytes_of(p), "p");
      launch(*device, *device->compile({unit_header() + whole.text}).modules[0], whole,
             {a.word(), b.word(), on_v.word(), on_v.word(), on_p.word(), on_p.word(), s.word(),
              g.word()},
             {});
      const std::vector<std::byte> new_v = on_v.read(), new_p = on_p.read();
      for (std::int64_t i = 0; i < kM * kN; ++i) {
        const auto at = static_cast<std::size_t>(i), row = static_cast<std::size_t>(i / kN);
        const float sum = static_cast<float>(element(DType::bf16, product.data(), i));
        const float kept = 0.75F * v[at], more = 0.25F * sum, want = kept + more;
        const float rate = step == Step::kCall  ? steps[0]
                           : step == Step::kRow ? steps[row]
                                                : steps[static_cast<std::size_t>(indices[row])];
        const float down = rate * want;
        ASSERT_EQ(element(DType::f32, new_v.data(), i), want) << variant << " v at " << i;
        ASSERT_EQ(element(DType::f32, new_p.data(), i), p[at] - down) << variant << " p at " << i;
      }
    }
  }
}

/// More tiles than run at once: few blocks have them all, one after the other.
TEST(CudaProductElement, BlocksWalkOverTiles) {
  const auto device = test::device_under_test();
  const Dim rows = Dim::symbol("rows", 1, 1 << 20);
  for (const std::int64_t k : {40, 320}) {
    Problem problem = cpu::matmul({.m = 300, .n = 264, .k = k, .b_turned = true});
    problem.dtype = DType::bf16;
    const Expected expected(problem, false, 3);
    loop::Contraction open = contraction_of(problem);
    open.m[0].extent = rows;
    Printed p = print_product(open, nullptr, true, {false, "128x256x64.wg.s4.w"});
    EXPECT_EQ(evaluate(p.blocks, {{"rows", 300}}), 6);
    EXPECT_EQ(evaluate(p.blocks, {{"rows", 1 << 20}}), 132);
    const plait::cuda::Built built = device->compile({unit_header() + p.text});
    for (const int blocks : {1, 4, 6}) {
      p.blocks = blocks;
      expect_right(*device, *built.modules[0], p, expected, {{"rows", 300}});
      if (HasFatalFailure()) return;
    }
  }
}

/// More tiles than a pair of blocks has at once, odd sizes, every way that operands lie.
TEST(CudaProductElement, PairsWalkOverTiles) {
  const auto device = test::device_under_test();
  if (!device->has_pairs()) GTEST_SKIP() << "the emulated device has no two-block clusters";
  const std::string variant = "128x128x64.pair.s4";
  for (const std::int64_t k : {72, 328}) {
    for (const int turned : {0, 1, 2, 3}) {
      Problem problem = cpu::matmul({.m = 648,
                                     .n = 392,
                                     .k = k,
                                     .a_turned = (turned & 1) != 0,
                                     .b_turned = (turned & 2) != 0});
      problem.dtype = turned % 2 == 0 ? DType::bf16 : DType::f16;
      const Expected expected(problem, false, 3);
      Printed p = print_product(contraction_of(problem), nullptr, true, {false, variant, true});
      EXPECT_EQ(evaluate(p.blocks, {}), 24);
      const plait::cuda::Built built = device->compile({unit_header() + p.text});
      for (const int blocks : {2, 4, 10, 24}) {
        p.blocks = blocks;
        SCOPED_TRACE(str(k, " ", turned, " ", blocks));
        expect_right(*device, *built.modules[0], p, expected, {});
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// As many rows at once as a thread can hold; none where a place is loaded.
TEST(CudaProductElement, PiecesAndBytes) {
  const loop::Kernel k = update(Step::kCall);
  EXPECT_EQ(element_lanes(k), 4);
  EXPECT_EQ(element_pieces(k, 4, 8), 4);
  EXPECT_EQ(element_pieces(k, 4, 2), 2);
  EXPECT_EQ(element_pieces(update(Step::kRow), 4, 8), 4);
  EXPECT_EQ(element_pieces(update(Step::kLoaded), 4, 8), 0);
  const ElementBytes bytes = element_bytes(k);
  EXPECT_EQ(bytes.held, 8);
  EXPECT_EQ(bytes.loaded, 8);
  EXPECT_EQ(bytes.stored, 8);
}

}  // namespace
}  // namespace plait::codegen::cuda
