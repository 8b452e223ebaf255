// Contractions as CUDA kernels, run on the device under test: every core and tile, every way of
// reading the operands, splits, odd and empty sizes.
#include "codegen/cuda/product.h"

#include <algorithm>

#include "backends/cuda/candidate_timer.h"
#include "tests/codegen/cuda_product_check.h"

namespace plait::codegen::cuda {
namespace {

using cpu::Case;
using cpu::ConvShape;
using cpu::MatmulShape;

std::vector<Case> matmuls() {
  std::vector<Case> cases;
  const auto add = [&](const MatmulShape& s) {
    cases.push_back({str("matmul ", s.batch, "x", s.m, "x", s.n, "x", s.k, s.a_turned ? " At" : "",
                         s.b_turned ? " Bt" : "", s.c_turned ? " Ct" : ""),
                     cpu::matmul(s)});
  };
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      add({.m = 72, .n = 40, .k = 88, .a_turned = a, .b_turned = b});
      add({.m = 37, .n = 41, .k = 29, .a_turned = a, .b_turned = b, .c_turned = true});
      add({.m = 7, .n = 70, .k = 130, .a_turned = a, .b_turned = b, .slack = 2});
    }
  }
  add({.m = 65, .n = 9, .k = 5, .batch = 3});
  add({.m = 20, .n = 33, .k = 40, .batch = 2, .share_b = true});
  add({.m = 13, .n = 17, .k = 0});
  add({.m = 5, .n = 0, .k = 7});
  add({.m = 1, .n = 3, .k = 1});
  return cases;
}

std::vector<Case> convolutions() {
  std::vector<Case> cases;
  const auto add = [&](const char* name, ConvShape s, bool nchw) {
    s.nchw = nchw;
    const std::string layout = nchw ? "nchw " : "nhwc ";
    cases.push_back({layout + name, cpu::conv(s)});
    cases.push_back({layout + name + " dw", cpu::conv_weight_grad(s)});
    for (std::int64_t i = 0; s.dilation == 1 && i < s.stride * s.stride; ++i) {
      cases.push_back({str(layout, name, " dx phase ", i),
                       cpu::conv_input_grad(s, i / s.stride, i % s.stride)});
    }
  };
  for (const bool nchw : {false, true}) {
    add("3x3", {.n = 1, .h = 6, .w = 7, .c = 8, .o = 24}, nchw);
    add("3x3 stride 2", {.n = 2, .h = 6, .w = 5, .c = 5, .o = 6, .stride = 2}, nchw);
  }
  add("3x3 wide", {.n = 1, .h = 3, .w = 5, .c = 64, .o = 16}, false);
  add("3x3 dilated", {.n = 1, .h = 7, .w = 6, .c = 4, .o = 7, .pad = 2, .dilation = 2}, false);
  add("1x1", {.n = 2, .h = 5, .w = 3, .c = 24, .o = 16, .kh = 1, .kw = 1, .pad = 0}, false);
  add("7x7", {.n = 1, .h = 11, .w = 9, .c = 3, .o = 16, .kh = 7, .kw = 7, .stride = 2, .pad = 3},
      false);
  add("grouped", {.n = 1, .h = 5, .w = 6, .c = 3, .o = 4, .kh = 2, .kw = 3, .groups = 3}, false);
  add("depthwise", {.n = 1, .h = 5, .w = 4, .c = 1, .o = 1, .groups = 5}, false);
  return cases;
}

/// All of them; where compiling is slow, every other one.
std::vector<Case> every_other(std::vector<Case> cases, std::size_t first) {
  if (test::tested_on_gpu()) return cases;
  std::vector<Case> some;
  for (std::size_t i = first; i < cases.size(); i += 2) some.push_back(cases[i]);
  return some;
}

/// The best tiles, some of the others by turns, one of each way to cut k and the one without
/// tiles.
std::vector<std::string> some_of(const std::vector<std::string>& all, std::size_t first,
                                 std::size_t turn) {
  std::vector<std::string> tiles, some;
  for (const std::string& v : all) {
    if (v.find("simple") == std::string::npos) tiles.push_back(v);
  }
  for (std::size_t i = 0; i < std::min(first, tiles.size()); ++i) some.push_back(tiles[i]);
  if (!tiles.empty()) some.push_back(tiles[turn * 5 % tiles.size()]);
  for (const char* part : {".k2", ".k4", ".g2", ".g4", ".pair", "simple"}) {
    const auto has = [&](const std::string& v) { return v.find(part) != std::string::npos; };
    const auto found = std::find_if(all.begin(), all.end(), has);
    if (found != all.end()) some.push_back(*found);
  }
  std::sort(some.begin(), some.end());
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return some;
}

struct Tried {
  std::string name;
  Printed printed;
  std::size_t expected;
};

/// Many kernels to a unit: what takes long is to compile.
void expect_all_right(const std::vector<Case>& cases, DType dtype, bool tf32, std::size_t first) {
  constexpr std::size_t kUnit = 16;
  const auto device = test::device_under_test();
  std::vector<Expected> expected;
  std::vector<Tried> tried;
  for (Case c : cases) {
    c.problem.dtype = dtype;
    expected.emplace_back(c.problem, tf32, static_cast<unsigned>(expected.size()) + 1);
    const loop::Contraction contraction = contraction_of(c.problem);
    for (const std::string& v :
         some_of(product_variants(contraction, {}, {tf32, "", test::tested_on_gpu()}), first,
                 expected.size())) {
      const bool fixed = tried.size() % 3 != 0;
      tried.push_back({str(c.name, ", ", v),
                       print_product(contraction, nullptr, fixed, {tf32, v, test::tested_on_gpu()}),
                       expected.size() - 1});
    }
  }
  std::vector<std::string> texts;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if (i % kUnit == 0) texts.push_back(unit_header());
    if (i % kUnit == 0) names.clear();
    const Printed& p = tried[i].printed;
    if (std::find(names.begin(), names.end(), p.name) != names.end()) continue;
    names.push_back(p.name);
    texts.back() += p.text;
  }
  const plait::cuda::Built built = device->compile(texts);
  for (std::size_t i = 0; i < tried.size(); ++i) {
    SCOPED_TRACE(str(name_of(dtype), " ", tried[i].name));
    expect_right(*device, *built.modules[i / kUnit], tried[i].printed, expected[tried[i].expected],
                 {});
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(CudaProduct, MatmulsOfHalves) {
  expect_all_right(matmuls(), DType::bf16, false, 2);
  expect_all_right(matmuls(), DType::f16, false, 1);
}
TEST(CudaProduct, MatmulsInF32) {
  expect_all_right(every_other(matmuls(), 0), DType::f32, false, 1);
  expect_all_right(every_other(matmuls(), 1), DType::f32, true, 1);
}
TEST(CudaProduct, MatmulsOfOtherTypes) {
  for (const DType t : {DType::f64, DType::i64, DType::i32, DType::i16, DType::i8, DType::u8}) {
    std::vector<Case> cases = matmuls();
    cases.resize(4);
    expect_all_right(cases, t, false, 1);
  }
}
TEST(CudaProduct, ConvolutionsOfHalves) { expect_all_right(convolutions(), DType::f16, false, 1); }
TEST(CudaProduct, ConvolutionsInF32) {
  expect_all_right(every_other(convolutions(), 0), DType::f32, false, 1);
  expect_all_right(every_other(convolutions(), 1), DType::f32, true, 1);
}

/// max(sum + bias[n], 0) + rest[m, n], each step rounded, the sum itself if `first`; batch is
/// outside.
loop::Kernel bias_relu_add(DType t, bool first, std::int64_t batch, std::int64_t m,
                           std::int64_t n) {
  const DType compute = is_float(t) ? compute_dtype(t) : DType::i64;
  loop::Kernel k;
  k.epilogue = true;
  const auto index = [](const char* name, std::int64_t extent) {
    return Dim::symbol(name, 0, extent - 1);
  };
  k.rows = {{"$b", batch}, {"$m", m}};
  k.batch_rows = 1;
  k.inner = {{"$n", n}};
  k.buffers = {{t, false}, {t, false}, {t, true}};
  const Dim place = (index("$b", batch) * m + index("$m", m)) * n + index("$n", n);
  const auto let = [&](loop::Expr body, std::vector<loop::KernelOperand> operands) {
    k.lets.push_back({.dtype = t, .compute = compute, .body = body, .operands = operands});
  };
  using Operand = loop::KernelOperand;
  const loop::Expr x = loop::Expr::load(0), y = loop::Expr::load(1);
  let(x, {{.kind = Operand::kTile}});
  if (!first && is_half(t)) k.lets.back().dtype = DType::f32;
  let(x + y,
      {{.kind = Operand::kLet, .let = 0}, {.kind = Operand::kLoad, .load = {0, index("$n", n)}}});
  let(max(x, 0), {{.kind = Operand::kLet, .let = 1}});
  let(x + y, {{.kind = Operand::kLet, .let = 2}, {.kind = Operand::kLoad, .load = {1, place}}});
  k.stores = {{3, 2, place}};
  return k;
}

/// What the epilogue makes of a sum is compared with what it makes of the reference's: a sum's
/// error passes through once, and each of three roundings adds its own.
void expect_epilogue_right(const Problem& problem, bool tf32, bool first) {
  const DType t = problem.dtype;
  const Expected expected(problem, tf32, 7);
  const std::int64_t batch = cpu::extent_of(problem.batch), m = cpu::extent_of(problem.m),
                     n = cpu::extent_of(problem.n);
  const loop::Kernel epilogue = bias_relu_add(t, first, batch, m, n);
  std::mt19937 random(9);
  std::vector<std::byte> bias, rest;
  expected.fill(bias, n, random);
  expected.fill(rest, batch * m * n, random);
  const loop::Contraction contraction = contraction_of(problem);
  const auto device = test::device_under_test();
  std::string text = unit_header();
  std::vector<Printed> printed;
  for (const std::string& v :
       some_of(product_variants(contraction, {}, {tf32, "", test::tested_on_gpu()}), 1,
               static_cast<std::size_t>(m))) {
    printed.push_back(
        print_product(contraction, &epilogue, true, {tf32, v, test::tested_on_gpu()}));
    text += printed.back().text;
  }
  const plait::cuda::Built built = device->compile({text});
  const OnDevice a(*device, expected.a, "a"), b(*device, expected.b, "b");
  const OnDevice x(*device, bias, "bias"), y(*device, rest, "rest");
  const double last = t == DType::bf16  ? 0x1p-8
                      : t == DType::f16 ? 0x1p-11
                      : t == DType::f64 ? 0x1p-53
                                        : 0x1p-24;
  for (const Printed& p : printed) {
    const OnDevice out(*device, rest, "out");
    launch(*device, *built.modules[0], p, {a.word(), b.word(), x.word(), y.word(), out.word()}, {});
    const std::vector<std::byte> got = out.read();
    for (std::int64_t i = 0; i < batch * m * n; ++i) {
      const auto c = static_cast<std::size_t>(expected.c_at[static_cast<std::size_t>(i)]);
      const double sum = expected.want[c] + element(t, bias.data(), i % n);
      const double want = std::max(sum, 0.0) + element(t, rest.data(), i);
      const double slack = is_float(t) ? 3 * last * (std::abs(expected.want[c]) + 2) : 0;
      ASSERT_LE(std::abs(element(t, got.data(), i) - want), expected.bound[c] + slack)
          << name_of(t) << " " << p.name << " element " << i;
    }
  }
}

/// The product, then its epilogue as a kernel of its own, is the same to the bit.
TEST(CudaProduct, EpiloguesBehindAProduct) {
  const auto device = test::device_under_test();
  for (const bool turned : {false, true}) {
    const std::int64_t m = 40, n = 24;
    Problem p = cpu::matmul({.m = m, .n = n, .k = 64, .c_turned = turned});
    p.dtype = DType::f32;
    const Expected expected(p, true, 7);
    loop::Kernel epilogue = bias_relu_add(p.dtype, true, 1, m, n);
    const Dim row = Dim::symbol("$m", 0, m - 1), column = Dim::symbol("$n", 0, n - 1);
    if (turned) epilogue.stores[0].offset = column * m + row;
    std::mt19937 random(9);
    std::vector<std::byte> bias, rest;
    expected.fill(bias, n, random);
    expected.fill(rest, m * n, random);
    const loop::Contraction contraction = contraction_of(p);
    const Printed whole = print_product(contraction, &epilogue, true, {true, "64x64x32.mma.s4"});
    const Printed bare = print_product(contraction, nullptr, true, {true, "64x64x32.mma.s4"});
    const Printed behind = print_kernel(plait::cuda::kernel_behind(epilogue, p.dtype), true);
    const plait::cuda::Built built =
        device->compile({unit_header() + whole.text + bare.text + behind.text});
    const OnDevice a(*device, expected.a, "a"), b(*device, expected.b, "b");
    const OnDevice x(*device, bias, "bias"), y(*device, rest, "rest"), product(*device, rest, "c");
    const OnDevice once(*device, rest, "once"), twice(*device, rest, "twice");
    const plait::cuda::Module& module = *built.modules[0];
    launch(*device, module, whole, {a.word(), b.word(), x.word(), y.word(), once.word()}, {});
    launch(*device, module, bare, {a.word(), b.word(), product.word()}, {});
    launch(*device, module, behind, {x.word(), y.word(), twice.word(), product.word()}, {});
    EXPECT_EQ(once.read(), twice.read());
  }
}

TEST(CudaProduct, EpiloguesOfEveryCore) {
  for (const DType t : {DType::bf16, DType::f32, DType::f64, DType::i32}) {
    for (const bool turned : {false, true}) {
      Problem p = cpu::matmul({.m = 40, .n = 24, .k = 64, .batch = 2, .c_turned = turned});
      p.dtype = t;
      expect_epilogue_right(p, true, true);
      if (is_half(t)) expect_epilogue_right(p, true, false);
    }
  }
}

/// A NaN stays one through the rounding of whole strips, and stays where it is.
TEST(CudaProduct, NaNsOfHalves) {
  const auto device = test::device_under_test();
  for (const DType t : {DType::bf16, DType::f16}) {
    Problem p = cpu::matmul({.m = 40, .n = 72, .k = 64});
    p.dtype = t;
    Expected expected(p, false, 5);
    set_element(t, expected.a.data(), 3 * 64 + 7, std::nan(""));
    for (const char* v : {"64x64x64.wg.s8", "64x64x64.mma.s4"}) {
      const Printed printed = print_product(contraction_of(p), nullptr, true, {false, v});
      const plait::cuda::Built built = device->compile({unit_header() + printed.text});
      const OnDevice a(*device, expected.a, "a"), b(*device, expected.b, "b");
      const OnDevice c(*device, std::vector<std::byte>(40 * 72 * 2), "c");
      launch(*device, *built.modules[0], printed, {a.word(), b.word(), c.word()}, {});
      const std::vector<std::byte> got = c.read();
      for (std::int64_t i = 0; i < 40 * 72; ++i) {
        const bool nan = std::isnan(element(t, got.data(), i));
        ASSERT_EQ(nan, i / 72 == 3) << v << " element " << i;
      }
    }
  }
}

/// The same text for every size that a symbol takes.
TEST(CudaProduct, SizesThatAreOpen) {
  const Dim rows = Dim::symbol("rows", 1, 200), depth = Dim::symbol("depth", 0, 300);
  const auto device = test::device_under_test();
  for (const DType t : {DType::f16, DType::f32}) {
    for (const bool turned : {false, true}) {
      const auto problem = [&](std::int64_t m, std::int64_t k) {
        Problem p = cpu::matmul({.m = m, .n = 24, .k = k, .a_turned = turned, .b_turned = true});
        p.dtype = t;
        return p;
      };
      loop::Contraction open = contraction_of(problem(8, 16));
      open.batch.clear();
      open.m[0].extent = rows;
      open.m[0].a = turned ? Dim(1) : depth;
      open.k[0].extent = depth;
      open.k[0].a = turned ? rows : Dim(1);
      const DimBindings largest{{"rows", 200}, {"depth", 300}};
      std::string text = unit_header();
      std::vector<Printed> printed;
      for (const std::string& v : some_of(product_variants(open, largest, {}), 1, 1)) {
        printed.push_back(print_product(open, nullptr, true, {false, v}));
        text += printed.back().text;
      }
      const plait::cuda::Built built = device->compile({text});
      for (const auto& [m, k] : {std::pair{70, 33}, {1, 0}, {129, 300}}) {
        const Expected expected(problem(m, k), false, 3);
        for (const Printed& p : printed) {
          expect_right(*device, *built.modules[0], p, expected, {{"rows", m}, {"depth", k}});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plait::codegen::cuda
