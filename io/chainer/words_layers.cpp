// Layers, activations and losses in Chainer's words.
#include "io/chainer/words_rows.h"
#include "ops/activation.h"
#include "ops/compare.h"
#include "ops/contract.h"
#include "ops/conv.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/random.h"
#include "ops/resize.h"

namespace plait::io::chainer {
namespace {

/// Paddings of both sides, when they are equal.
std::optional<std::pair<std::int64_t, std::int64_t>> pads(const Sizes& p) {
  if (p.size() == 2) return std::pair{p[0], p[1]};
  if (p.size() != 4 || p[0] != p[1] || p[2] != p[3]) return {};
  return std::pair{p[0], p[2]};
}

Word conv(const Told& t) {
  const auto a = t.view.as<ops::Conv2d>();
  const auto p = pads(a.padding);
  if (a.layout != "NCHW" || !p) return {};
  return word("Convolution2DFunction",
              {{"sy", {a.stride[0]}},
               {"sx", {a.stride[1]}},
               {"ph", {p->first}},
               {"pw", {p->second}},
               {"cover_all", {false}},
               {"dy", {a.dilation[0]}},
               {"dx", {a.dilation[1]}},
               {"groups", {a.groups}}},
              t.view.count());
}

Word conv_transpose(const Told& t) {
  const auto a = t.view.as<ops::ConvTranspose2d>();
  const auto p = pads(a.padding);
  if (a.layout != "NCHW" || !p) return {};
  const Sizes y = sizes_of(t.view.out().shape);
  return word("Deconvolution2DFunction",
              {{"sy", {a.stride[0]}},
               {"sx", {a.stride[1]}},
               {"ph", {p->first}},
               {"pw", {p->second}},
               {"outh", {y[2]}},
               {"outw", {y[3]}},
               {"dy", {a.dilation[0]}},
               {"dx", {a.dilation[1]}},
               {"groups", {a.groups}}},
              t.view.count());
}

Word linear(const Told& t) {
  if (t.in(0).rank() != 2) return {};
  return word("LinearFunction", {}, t.view.count());
}

Word matrix_product(const Told& t) {
  const auto a = t.view.as<ops::Matmul>();
  if (t.is_root(0) || t.is_root(1) || !is_float(t.in(0).dtype) || a.wide) return {};
  return word("MatMul",
              {{"transa", {a.transpose_a}}, {"transb", {a.transpose_b}}, {"transc", {false}}}, 2);
}

Word pooling(const char* function, const Sizes& kernel, const Sizes& stride, const Sizes& padding,
             bool ceil) {
  const auto p = pads(padding);
  if (!p) return {};
  const Sizes& s = stride.empty() ? kernel : stride;
  return word(function,
              {{"kh", {kernel[0]}},
               {"kw", {kernel[1]}},
               {"sy", {s[0]}},
               {"sx", {s[1]}},
               {"ph", {p->first}},
               {"pw", {p->second}},
               {"cover_all", {ceil}},
               {"return_indices", {false}}},
              1);
}

Word max_pool(const Told& t) {
  const auto a = t.view.as<ops::MaxPool2d>();
  if (a.layout != "NCHW" || a.dilation != Sizes{1, 1}) return {};
  return pooling("MaxPooling2D", a.kernel, a.stride, a.padding, a.ceil_mode);
}

Word avg_pool(const Told& t) {
  const auto a = t.view.as<ops::AvgPool2d>();
  if (a.layout != "NCHW" || a.ceil_mode || !a.count_include_pad) return {};
  return pooling("AveragePooling2D", a.kernel, a.stride, a.padding, false);
}

Word global_avg_pool(const Told& t) {
  if (t.view.as<ops::GlobalPool2d>().layout != "NCHW") return {};
  const Sizes x = t.sizes(0), window{x[2], x[3]};
  return pooling("AveragePooling2D", window, window, {0, 0}, false);
}

Word norm_word(const Told& t, const char* function, bool decays) {
  const auto a = t.view.as<ops::BatchNorm>();
  if (a.layout != "NCHW") return {};
  Sizes axes;
  for (std::int64_t i = 0; i < t.in(0).rank(); ++i) {
    if (i != 1) axes.push_back(i);
  }
  Members m{{"eps", {a.eps}}, {"axis", ints(axes)}};
  if (decays) m.insert(m.begin() + 1, {"decay", {0.9}});
  for (int i = 1; i < t.view.count(); ++i) {
    if (t.in(i).dtype != t.in(0).dtype) return {};
  }
  return word(function, std::move(m), t.view.count());
}
Word batch_norm(const Told& t) { return norm_word(t, "BatchNormalization", true); }
Word fixed_norm(const Told& t) { return norm_word(t, "FixedBatchNormalization", false); }

Word cross_entropy(const Told& t) {
  const auto a = t.view.as<ops::CrossEntropy>();
  const std::int64_t axis = a.axis < 0 ? a.axis + t.in(0).rank() : a.axis;
  if (axis != 1 || a.label_smoothing != 0 || a.reduction == "sum") return {};
  if (a.ignore_index < -65536 || a.ignore_index > 65536) return {};
  return word("SoftmaxCrossEntropy",
              {{"normalize", {true}},
               {"cache_score", {true}},
               {"class_weight", {}},
               {"ignore_label", {a.ignore_index}},
               {"reduce", {std::string(a.reduction == "mean" ? "mean" : "no")}}},
              2);
}

Word mse(const Told& t) {
  if (t.view.as<ops::MseLoss>().reduction != "mean") return {};
  return word("MeanSquaredError", {}, 2);
}

Word dropout(const Told& t) {
  const auto a = t.view.as<ops::Dropout>();
  if (a.p >= 1) return {};
  Words w = word("Dropout", {{"dropout_ratio", {a.p}}}, 1);
  w.keeps_nothing = true;
  return w;
}

Word leaky(const Told& t) {
  return word("LeakyReLU", {{"slope", {t.view.as<ops::LeakyRelu>().slope}}}, 1);
}
Word elu(const Told& t) { return word("ELU", {{"alpha", {t.view.as<ops::Elu>().alpha}}}, 1); }
Word softplus(const Told& t) {
  const auto a = t.view.as<ops::Softplus>();
  if (a.threshold < 20) return {};
  return word("Softplus", {{"beta", {a.beta}}, {"beta_inv", {1 / a.beta}}}, 1);
}
Word clip(const Told& t) {
  const auto a = t.view.as<ops::Clip>();
  if (a.lo != 0 || a.hi - a.hi != 0 || !is_float(t.in(0).dtype)) return {};
  return word("ClippedReLU", {{"cap", {a.hi}}}, 1);
}

Word resize(const Told& t) {
  const auto a = t.view.as<ops::Resize>();
  if (a.layout != "NCHW") return {};
  return word("ResizeImages",
              {{"out_H", {a.size[0].value()}},
               {"out_W", {a.size[1].value()}},
               {"mode", {std::string("nearest")}},
               {"align_corners", {false}}},
              1);
}

Word embedding(const Told& t) {
  Words w = word("EmbedIDFunction", {{"ignore_label", {}}, {"_w_shape", ints(t.sizes(0))}}, 0);
  if (t.in(1).dtype != DType::i32 && t.in(1).dtype != DType::i64) return {};
  w.operands = {1, 0};  // ids first
  return w;
}

constexpr char kLogSoftmax[] = "LogSoftmax", kReLU[] = "ReLU", kSigmoid[] = "Sigmoid",
               kSoftmax[] = "Softmax", kTanh[] = "Tanh";

constexpr WordRow kLayerWords[] = {
    {"conv2d", conv},
    {"conv_transpose2d", conv_transpose},
    {"linear", linear},
    {"matmul", matrix_product},
    {"max_pool2d", max_pool},
    {"avg_pool2d", avg_pool},
    {"global_avg_pool2d", global_avg_pool},
    {"batch_norm", batch_norm},
    {"batch_norm_inference", fixed_norm},
    {"cross_entropy", cross_entropy},
    {"mse_loss", mse},
    {"dropout", dropout},
    {"relu", plain<kReLU>},
    {"leaky_relu", leaky},
    {"elu", elu},
    {"softplus", softplus},
    {"clip", clip},
    {"sigmoid", plain<kSigmoid>},
    {"tanh", plain<kTanh>},
    {"softmax", along_axis<kSoftmax>},
    {"log_softmax", along_axis<kLogSoftmax>},
    {"resize_nearest", resize},
    {"embedding", embedding},
};

}  // namespace

std::span<const WordRow> layer_words() { return kLayerWords; }

}  // namespace plait::io::chainer
