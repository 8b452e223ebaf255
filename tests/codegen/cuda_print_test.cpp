// Loop kernels as CUDA text, run on a device: every schedule, odd sizes, all dtypes.
#include <random>

#include "codegen/cuda/product_element.h"
#include "tests/codegen/cuda_case.h"

namespace plait::codegen::cuda {
namespace {

const Expr x = Expr::load(0), y = Expr::load(1), z = Expr::load(2);

/// (a + b) * c over one index.
Kernel flat(DType dtype, const Dim& size) {
  Making m({}, {size});
  const auto a = m.load(dtype, m.at()), b = m.load(dtype, m.at()), c = m.load(dtype, Dim(0));
  m.store(m.let(dtype, (x + y) * z, {a, b, c}), m.at());
  return m.done();
}

TEST(CudaPrint, PointsOfEveryDtype) {
  for (std::size_t t = 0; t < kDTypeCount; ++t) {
    const auto dtype = static_cast<DType>(t);
    SCOPED_TRACE(name_of(dtype));
    Making m({}, {1003});
    const auto a = m.load(dtype, m.at()), b = m.load(dtype, m.at() + 1);
    m.store(m.let(dtype, max(x, y), {a, b}), m.at());
    compare(m.done());
  }
}

TEST(CudaPrint, FlatKernelsOfAllSizesAreOneFunction) {
  const std::string name = print_kernel(flat(DType::bf16, 8), true).name;
  for (int size : {2, 7, 16, 2048, 4099}) {
    SCOPED_TRACE(size);
    EXPECT_EQ(print_kernel(flat(DType::bf16, size), true).name, name);
    compare(flat(DType::bf16, size));
  }
}

TEST(CudaPrint, OnePoint) { compare(flat(DType::bf16, 1)); }

TEST(CudaPrint, FlatBodiesMoveWholeVectors) {
  const std::string text = print_kernel(flat(DType::bf16, 4096), true).text;
  EXPECT_NE(text.find("pl_move<8>"), std::string::npos);
  EXPECT_NE(print_kernel(flat(DType::f32, 4096), true).text.find("pl_move<4>"), std::string::npos);
}

/// Broadcasts along both, a neighbour of the row before where there is one, a transposed operand.
Kernel points(DType dtype, const Dim& rows, const Dim& inner) {
  Making m({2, rows}, {inner});
  const auto a = m.load(dtype, m.place()), b = m.load(dtype, m.at()), c = m.load(dtype, m.row(1));
  auto before = m.load(dtype, m.place() - inner);
  before.guards = {{m.row(1) - 1, Dim(0), rows}};
  const auto turned = m.load(dtype, m.at() * rows + m.row(1));
  const int sum = m.let(dtype, (x + y) * z, {a, b, c});
  m.store(m.let(dtype, x + y - z, {Making::value(sum), before, turned}), m.place());
  return m.done();
}

TEST(CudaPrint, HalvesAreReadAndStoredInPairs) {
  Making m({}, {1000});
  const auto a = m.load(DType::bf16, m.at()), b = m.load(DType::bf16, m.at());
  const int sum = m.let(DType::bf16, x + y, {a, b});
  m.store(sum, m.at());                                                 // read again
  m.store(m.let(DType::bf16, x * y, {Making::value(sum), a}), m.at());  // stored alone
  m.store(m.let(DType::bf16, max(x, y), {a, b}), m.at());               // one of the two
  const Kernel k = m.done();
  const std::string text = print_kernel(k, true).text;
  const auto count = [&](const std::string& what) {
    int n = 0;
    for (std::size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("pl_put_bf16<8>"), 1);
  EXPECT_EQ(count("pl_put_exact_bf16<8>"), 2);
  EXPECT_GT(count("pl_lane_bf16("), 0);
  compare(k);
}

TEST(CudaPrint, PointsOfRows) {
  for (int inner : {1, 3, 12, 64, 129}) {
    SCOPED_TRACE(inner);
    compare(points(DType::f32, 5, inner));
    compare(points(DType::f16, 9, inner), {}, false);
  }
}

/// A neighbour of the row before, where there is one, times numbers of the columns.
Kernel mixed(DType dtype, const Dim& rows, const Dim& inner) {
  Making m({rows}, {inner});
  const auto a = m.load(dtype, m.place()), b = m.load(DType::f32, m.at()),
             c = m.load(DType::f32, m.row());
  auto before = m.load(dtype, m.place() - inner);
  before.guards = {{m.row() - 1, Dim(0), rows}};
  const int share = m.let(dtype, Expr(1) - x, {b});
  const int sum = m.let(dtype, x * y + z * Expr::load(3), {a, b, before, Making::value(share)});
  m.store(sum, m.place());
  m.store(m.let(dtype, x * y, {Making::value(sum), c}), m.place());
  return m.done();
}

TEST(CudaPrint, AThreadHasPointsOfSeveralRows) {
  for (int rows : {1057, 2112, 2115}) {
    SCOPED_TRACE(rows);
    const Kernel k = mixed(DType::bf16, rows, 1024);
    EXPECT_NE(print_kernel(k, true).text.find("row_ = p_"), std::string::npos);
    compare(k);
  }
}

TEST(CudaPrint, SizesMayBeSymbols) {
  const Dim rows = Dim::symbol("rows", 1, 100), inner = Dim::symbol("inner", 1, 4096);
  compare(points(DType::f32, rows, inner), {{"rows", Dim(7)}, {"inner", Dim(40)}}, false);
  const Dim huge = Dim::symbol("huge", 1, std::int64_t(1) << 33);
  const Kernel k = points(DType::bf16, huge, 24);
  EXPECT_NE(print_kernel(k, true).text.find("const int64_t x_"), std::string::npos);
  compare(k, {{"huge", Dim(5)}});
}

/// exp(x - max) / sum, with the row's maximum stored too.
Kernel softmax(DType dtype, const Dim& rows, const Dim& inner) {
  Making m({rows}, {inner});
  const auto a = m.load(dtype, m.place());
  const int most = m.reduce(Reduce::kMax, m.let(dtype, x, {a}), false);
  const int e = m.let(DType::f32, exp(x - y), {a, Making::value(most)}, 1);
  m.keep(e);
  const int sum = m.reduce(Reduce::kSum, e, false, 1);
  m.store(m.let(dtype, x / y, {Making::value(e), Making::value(sum)}, 2), m.place());
  m.store(most, m.row());
  return m.done();
}

TEST(CudaPrint, RowsInRegistersSharedMemoryAndScratch) {
  for (int inner : {1, 3, 33, 64, 1000, 1024}) {
    SCOPED_TRACE(inner);
    compare(softmax(DType::f32, 5, inner));
    compare(softmax(DType::bf16, 131, inner));
  }
  compare(softmax(DType::f32, 3, 4999));
  compare(softmax(DType::f32, 300, 12001));
  const Dim inner = Dim::symbol("inner", 1, 3000);
  compare(softmax(DType::f32, 3, inner), {{"inner", Dim(77)}}, false);
}

TEST(CudaPrint, KeptRowsLieWhereTheyFit) {
  EXPECT_TRUE(print_kernel(softmax(DType::f32, 64, 1024), true).scratch_sizes.empty());
  EXPECT_LE(print_kernel(softmax(DType::f32, 64, 1024), true).block_bytes, 1024);
  EXPECT_GT(print_kernel(softmax(DType::f32, 64, 4999), true).block_bytes, 4999 * 4);
  EXPECT_EQ(print_kernel(softmax(DType::f32, 64, 12001), true).scratch_sizes.size(), 1u);
}

TEST(CudaPrint, RowsWhosePointsLieApart) {
  for (int rows : {3, 40, 700}) {
    SCOPED_TRACE(rows);
    Making m({2, rows}, {19});
    const auto a = m.load(DType::f32, (m.row() * Dim(19) + m.at()) * Dim(rows) + m.row(1));
    const int sum = m.reduce(Reduce::kSum, m.let(DType::f32, x, {a}), false);
    m.store(sum, m.row() * Dim(rows) + m.row(1));
    compare(m.done());
  }
}

/// Sums of columns of a product, which is stored too.
Kernel columns(DType dtype, const Dim& rows, const Dim& inner) {
  Making m({rows}, {inner});
  const auto a = m.load(dtype, m.place()), b = m.load(dtype, m.place());
  const int product = m.let(dtype, x * y, {a, b});
  m.store(product, m.place());
  m.store(m.reduce(Reduce::kSum, product, true), m.at());
  m.store(m.reduce(Reduce::kMax, product, true), m.at());
  return m.done();
}

TEST(CudaPrint, Columns) {
  for (int inner : {3, 40, 264}) {
    for (int rows : {1, 70, 1500}) {
      SCOPED_TRACE(str(rows, " x ", inner));
      compare(columns(DType::f32, rows, inner));
    }
  }
  compare(columns(DType::bf16, 300, 64));
  compare(columns(DType::f64, 300, 6));
  compare(columns(DType::i32, 300, 6));
  const Dim rows = Dim::symbol("rows", 0, 5000);
  compare(columns(DType::f32, rows, 12), {{"rows", Dim(1234)}}, false);
}

TEST(CudaPrint, FewRowsNeedNoSecondStage) {
  EXPECT_TRUE(print_kernel(columns(DType::f32, 8, 64), true).finish_blocks.is(0));
  EXPECT_FALSE(print_kernel(columns(DType::f32, 5000, 64), true).finish_blocks.is(0));
}

/// What a layer norm's gradient does: sums of rows, sums of columns, and a sum of everything.
Kernel both(DType dtype, const Dim& rows, const Dim& inner) {
  Making m({rows}, {inner});
  const auto a = m.load(dtype, m.place()), b = m.load(dtype, m.at());
  const int product = m.let(dtype, x * y, {a, b});
  const int sum = m.reduce(Reduce::kSum, product, false);
  m.store(m.let(dtype, x - y, {a, Making::value(sum)}, 1), m.place());
  m.store(m.reduce(Reduce::kSum, product, true), m.at());
  m.store(m.reduce(Reduce::kSum, sum, true, 1), Dim(0));
  return m.done();
}

TEST(CudaPrint, ColumnsOfWholeRows) {
  for (int inner : {5, 96, 1024}) {
    SCOPED_TRACE(inner);
    compare(both(DType::f32, 3, inner));
    compare(both(DType::f32, 130, inner));
  }
  compare(both(DType::f32, 40, 20001));
}

TEST(CudaPrint, FewPointsStayInAWarp) {
  for (const auto& [rows, inner] : {std::pair(1, 1), {64, 8}, {5, 200}, {200, 5}, {33, 31}}) {
    SCOPED_TRACE(str(rows, " x ", inner));
    for (const Kernel& k : {columns(DType::f16, rows, inner), both(DType::f32, rows, inner)}) {
      const Printed printed = print_kernel(k, true);
      EXPECT_EQ(printed.threads, 32);
      EXPECT_EQ(printed.block_bytes, 0);
      compare(k);
    }
    EXPECT_EQ(print_kernel(softmax(DType::f32, rows, inner), true).block_bytes, 0);
  }
  compare(columns(DType::f64, 20, 6));
  compare(columns(DType::i64, 20, 6));
  EXPECT_EQ(print_kernel(columns(DType::f32, 300, 8), true).threads, kThreads);
}

/// The root of each row's mean square, times a number of the row; the squares are stored too.
Kernel norms(const Dim& rows, const Dim& inner) {
  Making m({rows}, {inner});
  const auto a = m.load(DType::f32, m.place()), scale = m.load(DType::f32, m.row());
  const int square = m.let(DType::f32, x * x, {a});
  m.store(square, m.place());
  const int sum = m.reduce(Reduce::kSum, square, false);
  m.store(m.let(DType::f32, sqrt(x) * y, {Making::value(sum), scale}, 1), m.row());
  m.store(m.reduce(Reduce::kMax, square, false), m.row());
  return m.done();
}

TEST(CudaPrint, FewLongRowsRunInManyBlocks) {
  for (int rows : {1, 3, 9}) {
    SCOPED_TRACE(rows);
    const Kernel k = norms(rows, 50004);
    EXPECT_GT(print_kernel(k, true).blocks.value(), 8 * rows);
    EXPECT_FALSE(print_kernel(k, true).finish_blocks.is(0));
    compare(k);
  }
  compare(norms(2, 20001));
  const Dim inner = Dim::symbol("inner", 0, 1 << 20);
  compare(norms(3, inner), {{"inner", Dim(4711)}}, false);
}

TEST(CudaPrint, ManyColumnsNeedNoSecondStage) {
  EXPECT_TRUE(print_kernel(columns(DType::f32, 4096, 1024), true).finish_blocks.is(0));
  compare(columns(DType::f32, 300, 2048));
  compare(columns(DType::bf16, 130, 2048));
}

TEST(CudaPrint, NamesOfIndicesAreNotInTheText) {
  Making m({}, {4096});
  const auto a = m.load(DType::f32, m.at());
  m.store(m.let(DType::bf16, x, {a}), m.at());
  const Kernel one = m.done();
  Making n({}, {64, 64});
  const auto b = n.load(DType::f32, n.place());
  n.store(n.let(DType::bf16, x, {b}), n.place());
  EXPECT_EQ(print_kernel(one, true).name, print_kernel(n.done(), true).name);
}

/// A bias and a residual behind a contraction's element.
Kernel epilogue() {
  Making m({2, 3}, {5});
  m.k.epilogue = true;
  m.k.batch_rows = 1;
  KernelOperand tile;
  tile.kind = KernelOperand::kTile;
  const auto bias = m.load(DType::f32, m.at()), more = m.load(DType::bf16, m.place());
  m.store(m.let(DType::bf16, max(x + y, Expr(0)) + z, {tile, bias, more}), m.place());
  return m.done();
}

TEST(CudaPrint, AnElementIsWhatItsFormulaMakes) {
  const ElementText element = print_element(epilogue(), 1, 5, true);
  EXPECT_TRUE(element.parameters.empty());
  const std::string call =
      str("extern \"C\" __global__ void each(const pl_words<4> w) {\n  int bad = 0;\n",
          "  const int i = threadIdx.x;\n  if (i < 30) element(w.v, i / 15, i / 5 % 3, i % 5, "
          "((const float*)w.v[0])[i], bad);\n}\n");
  plait::cuda::Device* const device = &device_of_cases();
  const auto module = device->compile({unit_header() + element.text + call}).modules[0];
  std::mt19937 random(3);
  std::vector<float> tile(30), bias(5);
  std::vector<bf16> more(30), result(30);
  std::normal_distribution<float> normal;
  const auto fill = [&]<class T>(std::vector<T>& numbers) {
    for (T& number : numbers) number = static_cast<T>(normal(random));
    const auto bytes = static_cast<std::int64_t>(numbers.size() * sizeof(T));
    char* data = device->allocate(bytes, "a buffer");
    device->write(data, numbers.data(), bytes);
    return reinterpret_cast<plait::cuda::Word>(data);
  };
  const std::vector<plait::cuda::Word> words{fill(tile), fill(bias), fill(more), fill(result)};
  device->launch({module->function("each"), 1, 32, 0, words});
  device->wait();
  device->read(result.data(), reinterpret_cast<const char*>(words[3]), 60);
  for (std::size_t i = 0; i < 30; ++i) {
    const float want = std::max(tile[i] + bias[i % 5], 0.0F) + static_cast<float>(more[i]);
    EXPECT_EQ(static_cast<float>(result[i]), static_cast<float>(bf16(want))) << i;
  }
  for (const plait::cuda::Word w : words) device->release(reinterpret_cast<char*>(w));
}

TEST(CudaPrint, AnEpilogueIsNoKernelOfItsOwn) { EXPECT_THROW(print_kernel(epilogue(), true), Bug); }

/// Rows of a table, by index; and what divides them.
Kernel gathered(int table_rows) {
  Making m({6}, {20});
  Let index;
  index.dtype = index.compute = DType::i64;
  index.body = x;
  index.operands = {m.load(DType::i64, m.row())};
  index.index = "$g0";
  index.index_extent = table_rows;
  m.k.lets.push_back(index);
  const Dim g = Dim::symbol("$g0", 0, table_rows - 1);
  const int row = m.let(DType::i32, x, {m.load(DType::i32, g * Dim(20) + m.at())});
  m.store(m.let(DType::i32, floordiv(Expr(100), x), {Making::value(row)}), m.place());
  Kernel k = m.done();
  k.buffers[1].dtype = DType::i32;
  return k;
}

/// An element of a table, stored where its index lies.
TEST(CudaPrint, AKernelOfOnePointMayStoreWhereItLoads) {
  Making m({}, {});
  Let index;
  index.dtype = index.compute = DType::i64;
  index.body = x;
  index.operands = {m.load(DType::i64, Dim(0))};
  index.index = "$g0";
  index.index_extent = 5;
  m.k.lets.push_back(index);
  const auto element = m.load(DType::f64, Dim::symbol("$g0", 0, 4));
  m.store(m.let(DType::f64, x - Expr(1e9), {element}), Dim(0));
  compare(m.done(), {}, true, 5, 0, {2, 0});
}

TEST(CudaPrint, ResultsMayTakeTheirOperandsPlace) {
  compare(flat(DType::f32, 4099), {}, true, 5, 0, {3, 0});
  compare(points(DType::f32, 9, 64), {}, true, 5, 0, {5, 0});
  compare(columns(DType::f32, 1500, 40), {}, true, 5, 0, {2, 1});
  compare(columns(DType::bf16, 130, 2048), {}, true, 5, 0, {2, 1});
  for (int inner : {20, 300, 20001}) {  // a number of each row
    SCOPED_TRACE(inner);
    Making m({7}, {inner});
    const auto a = m.load(DType::f32, m.place()), b = m.load(DType::f32, m.row());
    const int sum = m.reduce(Reduce::kSum, m.let(DType::f32, x, {a}), false);
    m.store(m.let(DType::f32, x + y, {Making::value(sum), b}, 1), m.row());
    compare(m.done(), {}, true, 5, 0, {2, 1});
  }
}

TEST(CudaPrint, ErrorsSetTheirBits) {
  compare(gathered(5), {}, true, 5, kBadDivision);              // zeros are among 0..4
  compare(gathered(3), {}, true, 5, kBadIndex | kBadDivision);  // 3 and 4 are not rows
}

}  // namespace
}  // namespace plait::codegen::cuda
