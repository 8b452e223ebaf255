// Kernels as CUDA text that sum rows and columns at once: what later rows load is on its way, and
// what a stage made is kept for the next.
#include "codegen/cuda/prepare.h"
#include "codegen/cuda/schedule.h"
#include "tests/codegen/cuda_case.h"

namespace plait::codegen::cuda {
namespace {

const Expr x = Expr::load(0), y = Expr::load(1), z = Expr::load(2);

/// A layer norm's gradient between two steps of time: the second stage makes again what the first
/// made, from four loads, and has one of its own. `beyond` stands for the row behind the last one;
/// `sums` more go down the columns.
Kernel gradient(DType dtype, const Dim& rows, const Dim& inner, double beyond = 0.5, int sums = 0) {
  Making m({2, rows}, {inner});
  const auto a = m.load(dtype, m.place()), w = m.load(DType::f32, m.at());
  const auto c = m.load(DType::f32, m.place()), late = m.load(dtype, m.place());
  auto after = m.load(DType::f32, m.place() + inner);
  after.guards = {{m.row(1) + 1, Dim(0), rows}};
  after.otherwise = beyond;
  const auto made = [&](int stage) {
    const int sum = m.let(DType::f32, x * y + z, {a, w, after}, stage);
    return std::pair(sum, m.let(DType::f32, x * y, {Making::value(sum), c}, stage));
  };
  const auto [sum, product] = made(0);
  const int whole = m.reduce(Reduce::kSum, product, false);
  m.store(m.reduce(Reduce::kSum, sum, true), m.at());
  m.store(m.reduce(Reduce::kMax, product, true), m.at());
  for (int i = 0; i < sums; ++i) {
    const int more = m.let(DType::f32, x * Expr(i + 2), {Making::value(product)});
    m.store(m.reduce(Reduce::kSum, more, true), m.at());
  }
  const auto again = made(1);
  m.store(m.let(dtype, (x - y) * z, {Making::value(again.second), Making::value(whole), late}, 1),
          m.place());
  return m.done();
}

TEST(CudaColumns, LaterRowsAreOnTheirWay) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    for (int rows : {2048, 2049}) {
      SCOPED_TRACE(str(name_of(dtype), ' ', rows));
      const Printed printed = print_kernel(gradient(dtype, rows, 64), true);
      EXPECT_NE(printed.text.find("pl_copy<"), std::string::npos);
      EXPECT_LE(printed.block_bytes, 216 * 1024 / 2);
      compare(gradient(dtype, rows, 64));
    }
  }
  compare(gradient(DType::bf16, 131, 1024));
  compare(gradient(DType::f64, 700, 192));
}

TEST(CudaColumns, SeveralRowsAreOnTheirWay) {
  const Kernel k = gradient(DType::bf16, 1100, 256);
  const Printed printed = print_kernel(k, true);
  EXPECT_NE(printed.text.find("ahead_ = ahead_ =="), std::string::npos);
  EXPECT_EQ(printed.text.find("pl_copy_wait<1>"), std::string::npos);  // of two stages' copies
  EXPECT_GT(printed.block_bytes, kFinishBytes);
  compare(k);
}

TEST(CudaColumns, CopiesLeaveZerosBeyondTheEdge) {
  const auto chooses = [](double beyond) {
    return print_kernel(gradient(DType::f32, 2048, 64, beyond), true).text.find(" ? q0_") !=
           std::string::npos;
  };
  EXPECT_FALSE(chooses(0));
  EXPECT_TRUE(chooses(-0.0));
  compare(gradient(DType::f32, 2048, 64, 0));
}

TEST(CudaColumns, RowsOfABlockMeetByThemselves) {
  const Kernel k = gradient(DType::bf16, 260, 512, 0, 10);
  const Schedule s = schedule_of(with_kept(k));
  ASSERT_LT(s.along, s.threads);
  Lines barrier;
  row_barrier(barrier, s);
  EXPECT_EQ(barrier.text(), str("  pl_meet<", s.along, ">(1 + ty_);\n"));
  EXPECT_FALSE(barrier.has_barrier());
  EXPECT_NE(print_kernel(k, true).text.find(barrier.text()), std::string::npos);
  compare(k);
}

TEST(CudaColumns, LaterRowsMayNotBeThere) {
  const Dim rows = Dim::symbol("rows", 1, 5000);
  EXPECT_NE(print_kernel(gradient(DType::f32, rows, 64), true).text.find("pl_copy<"),
            std::string::npos);
  for (int size : {1, 7, 617}) {
    SCOPED_TRACE(size);
    compare(gradient(DType::f32, rows, 64), {{"rows", Dim(size)}}, false);
  }
}

TEST(CudaColumns, SmallKernelsWaitForTheirRows) {
  EXPECT_EQ(print_kernel(gradient(DType::f32, 100, 64), true).text.find("pl_copy<"),
            std::string::npos);
  compare(gradient(DType::f32, 100, 64));
}

TEST(CudaColumns, AValueIsKeptInPlaceOfItsLoads) {
  const Kernel k = gradient(DType::f32, 2048, 64), kept = with_kept(k);
  EXPECT_EQ(kept_count(kept), 1);
  EXPECT_EQ(kept.lets.size(), k.lets.size() - 2);  // made once
}

TEST(CudaColumns, LoadsAreKeptWhereTheyAreFewer) {
  Making m({300}, {64});
  const auto a = m.load(DType::f32, m.place());
  const auto made = [&](int stage) {
    return std::pair(m.let(DType::f32, x * x, {a}, stage), m.let(DType::f32, x + x, {a}, stage));
  };
  const auto first = made(0);
  const int sum = m.reduce(Reduce::kSum, first.first, false);
  m.store(m.reduce(Reduce::kSum, first.second, true), m.at());
  const auto again = made(1);
  m.store(m.let(DType::f32, x - y * z,
                {Making::value(again.first), Making::value(again.second), Making::value(sum)}, 1),
          m.place());
  const Kernel k = m.done();
  EXPECT_EQ(kept_count(with_kept(k)), 1);
  compare(k);
}

/// More sums than shared memory takes at once, of two widths.
TEST(CudaColumns, ManySumsMeetInTurns) {
  Making m({900}, {256});
  const auto a = m.load(DType::f32, m.place()), b = m.load(DType::f64, m.place());
  const int row = m.reduce(Reduce::kMax, m.let(DType::f32, x, {a}), false);
  m.store(row, m.row());
  for (int i = 0; i < 4; ++i) {
    const int single = m.let(DType::f32, x * Expr(i + 1), {a});
    m.store(m.reduce(Reduce::kSum, single, true), m.at());
    const int wide = m.let(DType::f64, x + Expr(i), {b});
    m.store(m.reduce(Reduce::kMin, wide, true), m.at());
  }
  compare(m.done());
}

}  // namespace
}  // namespace plait::codegen::cuda
