// Convolutions by enumeration: one walk names every product of x, w and y that a convolution has,
// and each op adds it up where it belongs. The gradients scatter, unlike the ops' own nests.
#include "ops/conv.h"
#include "tests/ops/oracle.h"

namespace plait {
namespace {

using ops::Conv2d;

struct Offsets {
  Sizes sizes;
  bool nhwc;
  std::int64_t n() const { return sizes[0]; }
  std::int64_t c() const { return sizes[nhwc ? 3 : 1]; }
  std::int64_t h() const { return sizes[nhwc ? 1 : 2]; }
  std::int64_t w() const { return sizes[nhwc ? 2 : 3]; }
  std::int64_t at(std::int64_t in, std::int64_t ic, std::int64_t ih, std::int64_t iw) const {
    return nhwc ? ((in * h() + ih) * w() + iw) * c() + ic : ((in * c() + ic) * h() + ih) * w() + iw;
  }
};

/// Calls f(offset in x, offset in w, offset in y) for every product of the convolution.
template <class F>
void each_product(const Conv2d& a, const Sizes& xs, const Sizes& ws, const Sizes& ys, F f) {
  const bool nhwc = a.layout == "NHWC";
  const Offsets x{xs, nhwc}, w{ws, nhwc}, y{ys, nhwc};
  const std::int64_t top = a.padding[0], left = a.padding[a.padding.size() == 2 ? 1 : 2];
  const std::int64_t per_group = y.c() / a.groups;
  for (std::int64_t n = 0; n < y.n(); ++n) {
    for (std::int64_t o = 0; o < y.c(); ++o) {
      for (std::int64_t h = 0; h < y.h(); ++h) {
        for (std::int64_t v = 0; v < y.w(); ++v) {
          for (std::int64_t c = 0; c < w.c(); ++c) {
            for (std::int64_t i = 0; i < w.h(); ++i) {
              for (std::int64_t j = 0; j < w.w(); ++j) {
                const std::int64_t row = h * a.stride[0] - top + i * a.dilation[0];
                const std::int64_t column = v * a.stride[1] - left + j * a.dilation[1];
                if (row < 0 || row >= x.h() || column < 0 || column >= x.w()) continue;
                const std::int64_t channel = o / per_group * w.c() + c;
                f(x.at(n, channel, row, column), w.at(o, c, i, j), y.at(n, o, h, v));
              }
            }
          }
        }
      }
    }
  }
}

Array result_of(const NodeView& node) { return Array(DType::f64, sizes_of(node.out().shape)); }

void add_bias(Array& y, const Array* bias, const std::string& layout) {
  if (!bias) return;
  const Sizes& s = y.sizes();
  const std::int64_t inner = layout == "NHWC" ? 1 : s[2] * s[3];
  for (std::int64_t i = 0; i < y.count(); ++i) {
    y.as<double>()[i] += bias->as<double>()[i / inner % bias->count()];
  }
}

const Array* optional_operand(const std::vector<const Array*>& in, std::size_t i) {
  return i < in.size() ? in[i] : nullptr;
}

std::vector<Array> run_conv2d(const NodeView& node, const std::vector<const Array*>& in) {
  const auto a = node.as<Conv2d>();
  Array y = result_of(node);
  const auto x = in[0]->as<double>(), w = in[1]->as<double>();
  each_product(a, in[0]->sizes(), in[1]->sizes(), y.sizes(),
               [&](auto xi, auto wi, auto yi) { y.as<double>()[yi] += x[xi] * w[wi]; });
  add_bias(y, optional_operand(in, 2), a.layout);
  return {y};
}

std::vector<Array> run_input_grad(const NodeView& node, const std::vector<const Array*>& in) {
  Array dx = result_of(node);
  const auto dy = in[0]->as<double>(), w = in[1]->as<double>();
  each_product(node.as<ops::Conv2dInputGrad>(), dx.sizes(), in[1]->sizes(), in[0]->sizes(),
               [&](auto xi, auto wi, auto yi) { dx.as<double>()[xi] += dy[yi] * w[wi]; });
  return {dx};
}

std::vector<Array> run_weight_grad(const NodeView& node, const std::vector<const Array*>& in) {
  Array dw = result_of(node);
  const auto x = in[0]->as<double>(), dy = in[1]->as<double>();
  each_product(node.as<ops::Conv2dWeightGrad>(), in[0]->sizes(), dw.sizes(), in[1]->sizes(),
               [&](auto xi, auto wi, auto yi) { dw.as<double>()[wi] += x[xi] * dy[yi]; });
  return {dw};
}

std::vector<Array> run_transpose(const NodeView& node, const std::vector<const Array*>& in) {
  const auto a = node.as<ops::ConvTranspose2d>();
  Array y = result_of(node);
  const auto x = in[0]->as<double>(), w = in[1]->as<double>();
  each_product(a, y.sizes(), in[1]->sizes(), in[0]->sizes(),
               [&](auto to, auto wi, auto from) { y.as<double>()[to] += x[from] * w[wi]; });
  add_bias(y, optional_operand(in, 2), a.layout);
  return {y};
}

}  // namespace

std::vector<Oracle> conv_oracles() {
  return {{"conv2d", run_conv2d},
          {"conv2d_input_grad", run_input_grad},
          {"conv2d_weight_grad", run_weight_grad},
          {"conv_transpose2d", run_transpose}};
}

}  // namespace plait
