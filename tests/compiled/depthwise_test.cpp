// Depthwise convolutions and those of few channels in a group, forward and both gradients, against
// their definition: every layout, stride and odd size, alone and with what is computed around them.
#include <cmath>
#include <limits>

#include "base/text.h"
#include "ir/text.h"
#include "ops/ops.h"
#include "program/program.h"
#include "tests/compiled/compiled_case.h"
#include "tests/compiled/noise.h"

namespace plait::test {
namespace {

struct Grouped {
  std::int64_t channels, groups, outputs;
  std::int64_t height, width, kernel, stride = 1, padding = 0, dilation = 1;
  std::string layout = "NHWC";
  DType dtype = DType::f32;

  ops::Conv2d how() const {
    ops::Conv2d c;
    c.stride = {stride, stride};
    c.padding = {padding, padding};
    c.dilation = {dilation, dilation};
    c.groups = groups;
    c.layout = layout;
    return c;
  }
  Shape image(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return layout == "NHWC" ? Shape{n, h, w, c} : Shape{n, c, h, w};
  }
  Shape weights() const { return image(outputs, channels / groups, kernel, kernel); }
  Shape result(std::int64_t n) const {
    const auto size = [&](std::int64_t length) {
      return (length + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
    };
    return image(n, outputs, size(height), size(width));
  }
  std::string name() const {
    return str(channels, "in", groups, "groups", outputs, "of", height, "x", width, "k", kernel,
               "s", stride, "p", padding, "d", dilation, layout, name_of(dtype));
  }
};

const Grouped kGrouped[] = {
    {.channels = 32,
     .groups = 32,
     .outputs = 32,
     .height = 14,
     .width = 10,
     .kernel = 3,
     .padding = 1},
    {.channels = 32,
     .groups = 32,
     .outputs = 32,
     .height = 13,
     .width = 9,
     .kernel = 3,
     .stride = 2,
     .padding = 1},
    {.channels = 17,
     .groups = 17,
     .outputs = 17,
     .height = 9,
     .width = 12,
     .kernel = 5,
     .padding = 2},
    {.channels = 24,
     .groups = 24,
     .outputs = 24,
     .height = 16,
     .width = 15,
     .kernel = 5,
     .stride = 2,
     .padding = 2},
    {.channels = 40,
     .groups = 40,
     .outputs = 40,
     .height = 11,
     .width = 11,
     .kernel = 3,
     .padding = 1,
     .layout = "NCHW"},
    {.channels = 16,
     .groups = 16,
     .outputs = 16,
     .height = 12,
     .width = 12,
     .kernel = 3,
     .stride = 2,
     .padding = 1,
     .layout = "NCHW"},
    {.channels = 16,
     .groups = 16,
     .outputs = 16,
     .height = 12,
     .width = 12,
     .kernel = 7,
     .padding = 3,
     .layout = "NCHW"},
    {.channels = 3,
     .groups = 3,
     .outputs = 3,
     .height = 30,
     .width = 21,
     .kernel = 3,
     .padding = 1,
     .layout = "NCHW"},
    {.channels = 5, .groups = 5, .outputs = 5, .height = 12, .width = 23, .kernel = 3, .stride = 2},
    {.channels = 32,
     .groups = 32,
     .outputs = 64,
     .height = 10,
     .width = 8,
     .kernel = 3,
     .padding = 1},
    {.channels = 18,
     .groups = 18,
     .outputs = 54,
     .height = 8,
     .width = 9,
     .kernel = 3,
     .padding = 1,
     .layout = "NCHW"},
    {.channels = 32,
     .groups = 16,
     .outputs = 32,
     .height = 8,
     .width = 10,
     .kernel = 3,
     .padding = 1},
    {.channels = 32,
     .groups = 8,
     .outputs = 32,
     .height = 8,
     .width = 6,
     .kernel = 3,
     .padding = 1,
     .layout = "NCHW"},
    {.channels = 24,
     .groups = 12,
     .outputs = 48,
     .height = 9,
     .width = 7,
     .kernel = 3,
     .stride = 2,
     .padding = 1},
    {.channels = 48,
     .groups = 12,
     .outputs = 24,
     .height = 9,
     .width = 7,
     .kernel = 3,
     .padding = 1,
     .layout = "NCHW"},
    {.channels = 32,
     .groups = 4,
     .outputs = 32,
     .height = 9,
     .width = 8,
     .kernel = 3,
     .padding = 1},
    {.channels = 32,
     .groups = 32,
     .outputs = 32,
     .height = 12,
     .width = 10,
     .kernel = 3,
     .padding = 2,
     .dilation = 2},
    {.channels = 32, .groups = 32, .outputs = 32, .height = 6, .width = 8, .kernel = 1},
    {.channels = 32,
     .groups = 32,
     .outputs = 32,
     .height = 1,
     .width = 9,
     .kernel = 3,
     .padding = 1},
    {.channels = 32,
     .groups = 32,
     .outputs = 32,
     .height = 10,
     .width = 14,
     .kernel = 3,
     .padding = 1,
     .dtype = DType::bf16},
    {.channels = 32,
     .groups = 32,
     .outputs = 32,
     .height = 10,
     .width = 14,
     .kernel = 3,
     .padding = 1,
     .layout = "NCHW",
     .dtype = DType::f16},
    {.channels = 16,
     .groups = 16,
     .outputs = 16,
     .height = 10,
     .width = 6,
     .kernel = 3,
     .padding = 1,
     .dtype = DType::f64},
};

/// The three of them, each on numbers of its own.
ir::Graph three(const Grouped& g, std::int64_t n) {
  Builder b("three");
  const auto feed = [&](const char* name, Shape shape) {
    return b.feed(name, g.dtype, std::move(shape));
  };
  const Tensor x = feed("x", g.image(n, g.channels, g.height, g.width));
  const Tensor w = feed("w", g.weights()), dy = feed("dy", g.result(n));
  b.fetch("y", ops::conv2d(x, w, g.how()));
  b.fetch("dx", ops::conv2d_input_grad(dy, w, ops::Conv2dInputGrad{g.how(), {g.height, g.width}}));
  b.fetch("dw",
          ops::conv2d_weight_grad(x, dy, ops::Conv2dWeightGrad{g.how(), {g.kernel, g.kernel}}));
  return b.take();
}

/// The results of a graph that is not small enough to be one function.
Arrays run_in_steps(const ir::Graph& graph, const NamedArrays& inputs, int threads) {
  const Arrays feeds = named_in(0, Arrays(inputs.begin(), inputs.end()));
  Arrays out;
  const ir::Graph both = side_by_side({graph, scan_graph()});
  for (const auto& [name, value] : run_compiled(both, feeds, {}, threads)) {
    if (name.starts_with("g0.")) out.emplace(name.substr(3), value);
  }
  return out;
}

void expect_close(const ir::Graph& graph, const NamedArrays& inputs) {
  const Arrays once = run_in_steps(graph, inputs, 1);
  const Agreement a =
      agreement(expected_of(graph, inputs, 12), NamedArrays(once.begin(), once.end()));
  EXPECT_EQ(a.first, "");
  EXPECT_GT(a.compared, a.open);
  const Arrays threaded = may_differ() ? run_in_steps(graph, inputs, 3) : once;
  EXPECT_EQ(differing_bits(once, threaded), "") << "on three threads";
  for (const std::string& mode : protected_modes()) {
    const Fence fence(mode);
    EXPECT_EQ(differing_bits(once, run_in_steps(graph, inputs, 2)), "") << mode;
  }
}

class Depthwise : public CompiledCase {};
class DepthwiseOf : public CompiledCase, public testing::WithParamInterface<Grouped> {};

TEST_P(DepthwiseOf, AgreesWithItsDefinition) {
  const ir::Graph graph = three(GetParam(), 2);
  expect_close(graph, random_inputs(graph, 11, false));
}

INSTANTIATE_TEST_SUITE_P(Sizes, DepthwiseOf, testing::ValuesIn(kGrouped),
                         [](const auto& info) { return info.param.name(); });

/// What is computed before and behind them in one kernel: an elementwise chain, sums of channels.
TEST_F(Depthwise, FusesWithWhatIsAroundIt) {
  for (const char* layout : {"NHWC", "NCHW"}) {
    const Grouped g{.channels = 32,
                    .groups = 32,
                    .outputs = 32,
                    .height = 10,
                    .width = 12,
                    .kernel = 3,
                    .padding = 1,
                    .layout = layout};
    const std::vector<std::int64_t> pixels = g.layout == "NHWC"
                                                 ? std::vector<std::int64_t>{0, 1, 2}
                                                 : std::vector<std::int64_t>{0, 2, 3};
    const Shape spread = g.image(1, 32, 1, 1);
    Builder b("around");
    const Tensor x = b.feed("x", DType::f32, g.image(3, 32, 10, 12));
    const Tensor w = b.feed("w", DType::f32, g.weights());
    const Tensor y = ops::conv2d(ops::relu(x), w, g.how());
    const Tensor mean = y.mean(pixels);
    const Tensor scaled = ops::relu(y - mean.reshape(spread));
    b.fetch("scaled", scaled);
    b.fetch("squares", scaled.square().sum(pixels));
    const Tensor dy = ops::tanh(b.feed("dy", DType::f32, g.result(3)) * scaled);
    b.fetch("dw", ops::conv2d_weight_grad(x, dy, ops::Conv2dWeightGrad{g.how(), {3, 3}}));
    const Tensor moment = b.feed("m", DType::f32, g.weights());
    const Tensor dw =
        ops::conv2d_weight_grad(ops::relu(x), dy, ops::Conv2dWeightGrad{g.how(), {3, 3}});
    b.fetch("next", w - (moment * 0.5 + dw) * 0.25);
    b.fetch("bias", dy.sum(pixels));
    const ir::Graph graph = b.take();
    SCOPED_TRACE(layout);
    expect_close(graph, random_inputs(graph, 21, false));
  }
}

/// Where one factor lies on padding, the other one may be infinite.
TEST_F(Depthwise, LeavesOutWhatLiesOnPadding) {
  const Grouped g{.channels = 16,
                  .groups = 16,
                  .outputs = 16,
                  .height = 6,
                  .width = 6,
                  .kernel = 3,
                  .padding = 1};
  const ir::Graph graph = three(g, 1);
  const double infinity = std::numeric_limits<double>::infinity();
  NamedArrays inputs = random_inputs(graph, 31, false);
  for (std::int64_t c = 0; c < 16; ++c) {
    inputs.at("dy").set(c, infinity);  // the first pixel: the taps above and left of it
    for (std::int64_t tap = 0; tap < 9; ++tap) inputs.at("w").set(c * 9 + tap, infinity);
  }
  const NamedArrays right = evaluate_graph(graph, inputs);
  const Arrays got = run_compiled(graph, Arrays(inputs.begin(), inputs.end()));
  for (std::int64_t c = 0; c < 16; ++c) {
    for (std::int64_t tap = 0; tap < 9; ++tap) {
      const double want = right.at("dw").real(c * 9 + tap), is = got.at("dw").real(c * 9 + tap);
      const bool meets = tap == 4 || tap == 5 || tap == 7 || tap == 8;
      EXPECT_EQ(std::isfinite(want), !meets) << c << ' ' << tap;
      EXPECT_EQ(std::isfinite(is), !meets) << c << ' ' << tap << ": " << is;
      EXPECT_EQ(std::isnan(is), std::isnan(want)) << c << ' ' << tap;
    }
  }
}

/// A gradient of weights is sums down the channels, not as many products of one column.
TEST_F(Depthwise, GradientsOfWeightsAreReductions) {
  for (const char* layout : {"NHWC", "NCHW"}) {
    const Grouped g{.channels = 64,
                    .groups = 64,
                    .outputs = 64,
                    .height = 28,
                    .width = 28,
                    .kernel = 3,
                    .padding = 1,
                    .layout = layout};
    Builder b("dw");
    const Tensor x = b.feed("x", DType::f32, g.image(4, 64, 28, 28));
    const Tensor dy = b.feed("dy", DType::f32, g.result(4));
    b.fetch("dw", ops::conv2d_weight_grad(x, dy, ops::Conv2dWeightGrad{g.how(), {3, 3}}));
    const program::Program program = plan::make_program(b.take(), *target_under_test());
    ASSERT_EQ(program.steps.size(), 1u);
    EXPECT_EQ(program.steps[0].kind, "column") << layout;
  }
}

/// Sums over many pixels keep their digits.
TEST_F(Depthwise, LongSumsAreMadeOfBlocks) {
  if (tested() == Tested::kEmulated) GTEST_SKIP() << "takes too long there";
  const Grouped g{.channels = 16,
                  .groups = 16,
                  .outputs = 16,
                  .height = 512,
                  .width = 512,
                  .kernel = 3,
                  .padding = 1};
  Builder b("long");
  const Tensor x = b.feed("x", DType::f32, g.image(4, 16, 512, 512));
  const Tensor dy = b.feed("dy", DType::f32, g.result(4));
  b.fetch("dw", ops::conv2d_weight_grad(x, dy, ops::Conv2dWeightGrad{g.how(), {3, 3}}));
  const ir::Graph graph = b.take();
  const auto tenth = static_cast<float>(std::sqrt(0.1));
  Array value(DType::f32, {4, 512, 512, 16});
  for (std::int64_t i = 0; i < value.count(); ++i) value.set(i, static_cast<double>(tenth));
  const Arrays got = run_compiled(graph, {{"x", value}, {"dy", value}});
  const double term = static_cast<double>(tenth) * static_cast<double>(tenth);
  for (std::int64_t i = 0; i < got.at("dw").count(); ++i) {
    const std::int64_t tap = i % 9;
    const double rows = tap / 3 == 1 ? 512 : 511, columns = tap % 3 == 1 ? 512 : 511;
    EXPECT_LE(std::abs(got.at("dw").real(i) / (4 * rows * columns * term) - 1), 4e-6) << i;
  }
}

}  // namespace
}  // namespace plait::test
