// The table of ops that Chainer has a function for.
#include "io/chainer/words.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "ops/activation.h"
#include "ops/compare.h"
#include "ops/constant.h"
#include "ops/conv.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/pool.h"
#include "ops/random.h"
#include "ops/resize.h"
#include "ops/shape.h"
#include "ops/table.h"

namespace plait::io::chainer {
namespace {

/// A node with what a word for it depends on.
struct Told {
  const ir::Graph& graph;
  const ir::Node& node;
  NodeView view;

  const ir::Type& in(int i) const { return view.in(i); }
  /// The number of operand i, when it is a scalar constant.
  std::optional<double> constant(int i) const {
    const ir::NodeId maker = graph.value(node.inputs[static_cast<std::size_t>(i)]).producer;
    if (maker == ir::kNone || graph.node(maker).op != ops::constant.name) return {};
    const auto literal = ir::decode<ops::Constant>(graph.node(maker).attrs, "constant").value;
    if (literal.array->count() != 1) return {};
    return literal.array->real(0);
  }
  /// Whether nothing makes operand i, so that its shape must follow from the function.
  bool is_root(int i) const {
    return graph.value(node.inputs[static_cast<std::size_t>(i)]).producer == ir::kNone;
  }
  Sizes sizes(int i) const { return sizes_of(in(i).shape); }
};

using Word = std::optional<Words>;

Value ints(const Sizes& sizes) {
  std::vector<Value> out;
  for (std::int64_t n : sizes) out.push_back({n});
  return {std::move(out)};
}

std::vector<int> first(int n) {
  std::vector<int> out;
  for (int i = 0; i < n; ++i) out.push_back(i);
  return out;
}

Words word(std::string function, Members attributes, int operands) {
  return {std::move(function), std::move(attributes), first(operands)};
}

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
              {{"sy", {a.stride[0]}}, {"sx", {a.stride[1]}}, {"ph", {p->first}},
               {"pw", {p->second}}, {"cover_all", {false}}, {"dy", {a.dilation[0]}},
               {"dx", {a.dilation[1]}}, {"groups", {a.groups}}},
              t.view.count());
}

Word conv_transpose(const Told& t) {
  const auto a = t.view.as<ops::ConvTranspose2d>();
  const auto p = pads(a.padding);
  if (a.layout != "NCHW" || !p) return {};
  const Sizes y = sizes_of(t.view.out().shape);
  return word("Deconvolution2DFunction",
              {{"sy", {a.stride[0]}}, {"sx", {a.stride[1]}}, {"ph", {p->first}},
               {"pw", {p->second}}, {"outh", {y[2]}}, {"outw", {y[3]}}, {"dy", {a.dilation[0]}},
               {"dx", {a.dilation[1]}}, {"groups", {a.groups}}},
              t.view.count());
}

Word linear(const Told& t) {
  if (t.in(0).rank() != 2) return {};
  return word("LinearFunction", {}, t.view.count());
}

Word pooling(const char* function, const Sizes& kernel, const Sizes& stride, const Sizes& padding,
             bool ceil) {
  const auto p = pads(padding);
  if (!p) return {};
  const Sizes& s = stride.empty() ? kernel : stride;
  return word(function,
              {{"kh", {kernel[0]}}, {"kw", {kernel[1]}}, {"sy", {s[0]}}, {"sx", {s[1]}},
               {"ph", {p->first}}, {"pw", {p->second}}, {"cover_all", {ceil}},
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
              {{"normalize", {true}}, {"cache_score", {true}}, {"class_weight", {}},
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

template <const char* kName>
Word plain(const Told& t) {
  if (!is_float(t.in(0).dtype)) return {};
  return word(kName, {}, 1);
}

template <const char* kName>
Word along_axis(const Told& t) {
  return word(kName, {{"axis", {t.view.as<ops::Axis>().axis}}}, 1);
}

template <const char* kName>
Word reduction(const Told& t) {
  const auto a = t.view.as<ops::Reduction>();
  if (!is_float(t.in(0).dtype)) return {};
  return word(kName, {{"axis", a.axes.empty() ? Value{} : ints(a.axes)}, {"keepdims", {a.keep}}},
              1);
}

/// A function of one operand and a number; the position of the operand.
Words with_number(const char* function, double value, int operand, bool keeps) {
  Words w{function, {{"value", {value}}}, {operand}};
  w.keeps_nothing = !keeps;
  return w;
}

/// Two arrays. One that nothing makes has its shape from the other, or is a row of it.
Word both(const Told& t, const char* function) {
  if (!is_float(t.in(0).dtype)) return {};
  for (int i = 0; i < 2; ++i) {
    const bool told = t.in(i).shape == t.in(1 - i).shape && !t.is_root(1 - i);
    if (t.is_root(i) && !told && t.in(i).rank() != 1) return {};
  }
  return word(function, {}, 2);
}

Word add(const Told& t) {
  if (!is_float(t.in(0).dtype)) return {};
  if (const auto c = t.constant(1)) return with_number("AddConstant", *c, 0, false);
  if (const auto c = t.constant(0)) return with_number("AddConstant", *c, 1, false);
  return both(t, "Add");
}
Word sub(const Told& t) {
  if (!is_float(t.in(0).dtype)) return {};
  if (const auto c = t.constant(1)) return with_number("AddConstant", -*c, 0, false);
  if (const auto c = t.constant(0)) return with_number("SubFromConstant", *c, 1, false);
  return both(t, "Sub");
}
Word mul(const Told& t) {
  if (!is_float(t.in(0).dtype)) return {};
  if (const auto c = t.constant(1)) return with_number("MulConstant", *c, 0, false);
  if (const auto c = t.constant(0)) return with_number("MulConstant", *c, 1, false);
  return both(t, "Mul");
}
Word div(const Told& t) {
  if (t.constant(1)) return {};  // x * (1 / c) is not the same to the last bit
  if (const auto c = t.constant(0)) return with_number("DivFromConstant", *c, 1, true);
  return both(t, "Div");
}
Word pow(const Told& t) {
  if (const auto c = t.constant(1)) return with_number("PowVarConst", *c, 0, true);
  return {};
}

Word reshape(const Told& t) {
  return word("Reshape", {{"shape", ints(sizes_of(t.view.out().shape))}, {"_cnt", {std::int64_t{0}}}},
              1);
}
Word transpose(const Told& t) {
  return word("Transpose", {{"axes", ints(t.view.as<ops::Order>().order)}}, 1);
}
Word broadcast_to(const Told& t) {
  return word("BroadcastTo", {{"_shape", ints(sizes_of(t.view.out().shape))}}, 1);
}
Word concat(const Told& t) {
  for (int i = 0; i < t.view.count(); ++i) {
    if (t.is_root(i)) return {};
  }
  return word("Concat", {{"axis", {t.view.as<ops::Axis>().axis}}}, t.view.count());
}
Word split(const Told& t) {
  const auto a = t.view.as<ops::Split>();
  const Sizes sizes = sizes_of(a.sizes);
  if (!is_float(t.in(0).dtype)) return {};
  Sizes cuts;
  std::int64_t at = 0;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) cuts.push_back(at += sizes[i]);
  Words w = word("SplitAxis", {{"indices", ints(cuts)}, {"sections", {}}, {"axis", {a.axis}}}, 1);
  w.outputs = static_cast<int>(sizes.size());
  return w;
}
Word slice(const Told& t) {
  const auto a = t.view.as<ops::Slice>();
  std::vector<Value> cuts(static_cast<std::size_t>(t.in(0).rank()),
                          {std::string("slice(None, None, None)")});
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    const std::int64_t axis = a.axes[i] < 0 ? a.axes[i] + t.in(0).rank() : a.axes[i];
    const std::int64_t step = a.steps.empty() ? 1 : a.steps[i];
    cuts[static_cast<std::size_t>(axis)] = {str("slice(", a.starts[i].value(), ", ",
                                                a.stops[i].value(), ", ", step, ")")};
  }
  return word("GetItem", {{"slices", {std::move(cuts)}}}, 1);
}
Word cast(const Told& t) {
  const DType to = t.view.out().dtype;
  if (!is_float(t.in(0).dtype) || (to != DType::f16 && to != DType::f32)) return {};
  return word("Cast", {{"type", {std::string(to == DType::f16 ? "float16" : "float32")}}}, 1);
}
Word resize(const Told& t) {
  const auto a = t.view.as<ops::Resize>();
  if (a.layout != "NCHW") return {};
  return word("ResizeImages",
              {{"out_H", {a.size[0].value()}}, {"out_W", {a.size[1].value()}},
               {"mode", {std::string("nearest")}}, {"align_corners", {false}}},
              1);
}
Word embedding(const Told& t) {
  Words w = word("EmbedIDFunction", {{"ignore_label", {}}}, 0);
  if (t.in(1).dtype != DType::i32 && t.in(1).dtype != DType::i64) return {};
  w.operands = {1, 0};  // ids first
  return w;
}

struct Row {
  std::string_view op;
  Word (*word)(const Told&);
};

constexpr char kReLU[] = "ReLU", kSigmoid[] = "Sigmoid", kTanh[] = "Tanh", kNeg[] = "Neg",
               kAbsolute[] = "Absolute", kExp[] = "Exp", kLog[] = "Log", kSqrt[] = "Sqrt",
               kSquare[] = "Square", kSin[] = "Sin", kCos[] = "Cos", kIdentity[] = "Identity",
               kSoftmax[] = "Softmax", kLogSoftmax[] = "LogSoftmax", kSum[] = "Sum",
               kMean[] = "Mean", kMax[] = "Max", kMin[] = "Min", kLogSumExp[] = "LogSumExp";

constexpr Row kRows[] = {
    {"conv2d", conv},
    {"conv_transpose2d", conv_transpose},
    {"linear", linear},
    {"max_pool2d", max_pool},
    {"avg_pool2d", avg_pool},
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
    {"neg", plain<kNeg>},
    {"abs", plain<kAbsolute>},
    {"exp", plain<kExp>},
    {"log", plain<kLog>},
    {"sqrt", plain<kSqrt>},
    {"square", plain<kSquare>},
    {"sin", plain<kSin>},
    {"cos", plain<kCos>},
    {"copy", plain<kIdentity>},
    {"softmax", along_axis<kSoftmax>},
    {"log_softmax", along_axis<kLogSoftmax>},
    {"sum", reduction<kSum>},
    {"mean", reduction<kMean>},
    {"max", reduction<kMax>},
    {"min", reduction<kMin>},
    {"logsumexp", reduction<kLogSumExp>},
    {"add", add},
    {"sub", sub},
    {"mul", mul},
    {"div", div},
    {"pow", pow},
    {"reshape", reshape},
    {"transpose", transpose},
    {"broadcast_to", broadcast_to},
    {"concat", concat},
    {"split", split},
    {"slice", slice},
    {"cast", cast},
    {"resize_nearest", resize},
    {"embedding", embedding},
};

/// Whether the function's operands are known to whoever reads it: those that nothing makes and
/// whose shape the function does not tell are images, rows or ids.
bool readable(const Told& t, const Words& w) {
  constexpr std::string_view kTelling[] = {"Convolution2DFunction", "Deconvolution2DFunction",
                                           "LinearFunction",        "BatchNormalization",
                                           "FixedBatchNormalization", "SoftmaxCrossEntropy",
                                           "MeanSquaredError",      "EmbedIDFunction"};
  if (std::find(std::begin(kTelling), std::end(kTelling), w.function) != std::end(kTelling)) {
    return true;
  }
  if (w.operands.size() == 2) return true;  // judged where the word was found
  return std::none_of(w.operands.begin(), w.operands.end(), [&](int i) { return t.is_root(i); });
}

Words own_words(const Told& t) {
  Words w{t.node.op, {}, {}};
  for (const auto& [name, value] : t.node.attrs) w.attributes.push_back({name, attr_value(value)});
  std::vector<Value> shapes, dtypes;
  Sizes positions;
  for (int i = 0; i < t.view.count(); ++i) {
    if (!t.view.has(i)) continue;
    w.operands.push_back(i);
    positions.push_back(i);
    shapes.push_back(ints(t.sizes(i)));
    dtypes.push_back({std::string(name_of(t.in(i).dtype))});
  }
  const bool gaps = static_cast<int>(positions.size()) != t.view.count();
  w.attributes.push_back({std::string(kShapes), {std::move(shapes)}});
  w.attributes.push_back({std::string(kDTypes), {std::move(dtypes)}});
  if (gaps) w.attributes.push_back({std::string(kPositions), ints(positions)});
  w.outputs = static_cast<int>(t.node.outputs.size());
  return w;
}

}  // namespace

Words words_of(const ir::Graph& graph, const ir::Node& node) {
  const Told told{graph, node, view_of(graph, node)};
  for (const Row& row : kRows) {
    if (row.op != node.op) continue;
    if (const Word word = row.word(told); word && readable(told, *word)) return *word;
  }
  return own_words(told);
}

}  // namespace plait::io::chainer
