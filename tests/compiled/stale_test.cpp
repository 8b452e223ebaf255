// Every element of a result is written, whatever lay there before: convolutions, their gradients,
// pools, products and reductions over sums of one term, of none and of odd counts, in memory that
// is full of NaN.
#include "base/text.h"
#include "tests/compiled/fence_case.h"

namespace plait::test {
namespace {

class StaleMemory : public CompiledCase {};

std::string joined(const std::vector<std::string>& samples) { return join(samples, "; "); }

struct Window {
  int kernel_h, kernel_w, padding, stride, dilation;
  int out(int size, int kernel) const {
    return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
};

/// Windows of one element, of a row and of a square, that meet the padding alone or in part; half
/// of them, all in a soak.
std::vector<Window> windows() {
  std::vector<Window> out;
  for (const auto& [h, w] : {std::pair{1, 1}, {1, 3}, {3, 3}, {2, 1}}) {
    for (int padding : {0, 1, 2}) {
      for (int stride : {1, 2, 3}) {
        if (soak_seeds(0) == 0 && (padding + stride) % 2 == 0) continue;
        out.push_back({h, w, padding, stride, h == 2 ? 2 : 1});
      }
    }
  }
  return out;
}

std::string window_text(const Window& w) {
  return str("stride=[", w.stride, ",", w.stride, "], padding=[", w.padding, ",", w.padding,
             "], dilation=[", w.dilation, ",", w.dilation, "]");
}

TEST_F(StaleMemory, ConvolutionsWriteEveryElement) {
  std::vector<std::string> all;
  for (const Window& w : windows()) {
    for (const auto& [in, out, groups] : {std::tuple{1, 2, 1}, {3, 3, 3}, {2, 5, 1}, {0, 2, 1}}) {
      if (w.kernel_w == 3 && in == 0) continue;
      const std::string bias = w.stride == 2 ? "" : str(", f32[", out, "]");
      all.push_back(str("f32[2,", in, ",3,2], f32[", out, ",", in / groups, ",", w.kernel_h, ",",
                        w.kernel_w, "]", bias, " | ", window_text(w), ", groups=", groups));
    }
  }
  EXPECT_GT(check_in_fences({{"conv2d", joined(all)}}), 30);
}

TEST_F(StaleMemory, GradientsOfConvolutionsWriteEveryElement) {
  std::vector<std::string> input, weight, transposed;
  constexpr int kHeight = 4, kWidth = 3;
  for (const Window& w : windows()) {
    const int h = w.out(kHeight, w.kernel_h), v = w.out(kWidth, w.kernel_w);
    if (h <= 0 || v <= 0) continue;
    for (const auto& [in, out] : {std::pair{1, 1}, {2, 3}}) {
      const std::string more = window_text(w);
      const std::string dy = str("f32[1,", out, ",", h, ",", v, "]");
      const std::string kernel = str("f32[", out, ",", in, ",", w.kernel_h, ",", w.kernel_w, "]");
      input.push_back(str(dy, ", ", kernel, " | ", more, ", size=[", kHeight, ",", kWidth, "]"));
      weight.push_back(str("f32[1,", in, ",", kHeight, ",", kWidth, "], ", dy, " | ", more,
                           ", kernel=[", w.kernel_h, ",", w.kernel_w, "]"));
      transposed.push_back(str(dy, ", ", kernel, ", f32[", in, "] | ", more));
    }
  }
  // An image no larger than the stride, in products large enough for an engine.
  input.push_back("f32[2,16,1,1], f32[16,1024,1,1] | stride=[2,2], size=[2,2]");
  input.push_back("f32[2,16,1,1], f32[16,512,1,2] | stride=[3,3], size=[2,3]");
  EXPECT_GT(check_in_fences({{"conv2d_input_grad", joined(input)},
                             {"conv2d_weight_grad", joined(weight)},
                             {"conv_transpose2d", joined(transposed)}}),
            40);
}

TEST_F(StaleMemory, PoolsWriteEveryElement) {
  std::vector<std::string> most, mean, whole;
  for (const Window& w : windows()) {
    if (2 * w.padding > w.kernel_w + w.kernel_h) continue;
    const std::string image = "f32[1,2,5,4]";
    const std::string kernel =
        str(" | kernel=[", w.kernel_h, ",", w.kernel_w, "], stride=[", w.stride, ",", w.stride,
            "], padding=[", w.padding, ",", w.padding, "]");
    most.push_back(str(image, kernel, ", dilation=[", w.dilation, ",", w.dilation, "]"));
    mean.push_back(image + kernel);
    whole.push_back(str(image, kernel, ", ceil_mode=true, count_include_pad=false"));
  }
  EXPECT_GT(check_in_fences({{"max_pool2d", joined(most)},
                             {"avg_pool2d", joined(mean)},
                             {"avg_pool2d", joined(whole)}}),
            15);
}

TEST_F(StaleMemory, ProductsAndReductionsWriteEveryElement) {
  std::vector<std::string> matmul, linear, sums;
  for (int k : {0, 1, 2, 7, 17}) {
    for (const auto& [m, n] : {std::pair{1, 1}, {3, 1}, {1, 9}, {5, 17}, {0, 3}}) {
      matmul.push_back(str("f32[", m, ",", k, "], f32[", k, ",", n, "]"));
      matmul.push_back(
          str("f32[2,", k, ",", m, "], f32[", n, ",", k, "] | transpose_a=true, transpose_b=true"));
      linear.push_back(str("f32[", m, ",", k, "], f32[", n, ",", k, "], f32[", n, "]"));
    }
    for (const char* axis : {"0", "1"}) {
      sums.push_back(str("f32[", k, ",3] | axes=[", axis, "]"));
      sums.push_back(str("f32[3,", k, "] | axes=[", axis, "], keep=true"));
    }
  }
  EXPECT_GT(check_in_fences({{"matmul", joined(matmul)},
                             {"linear", joined(linear)},
                             {"sum", joined(sums)},
                             {"max", joined(sums)},
                             {"prod", joined(sums)},
                             {"mean", joined(sums)}}),
            100);
}

}  // namespace
}  // namespace plait::test
