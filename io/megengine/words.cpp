// Ops of ours in MegEngine's words, where those mean the same.
#include "io/megengine/words.h"

#include <algorithm>

#include "base/text.h"
#include "io/megengine/translate.h"
#include "ops/compare.h"
#include "ops/contract.h"
#include "ops/conv.h"
#include "ops/infer.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/softmax.h"
#include "ops/table.h"

namespace plait::io::megengine {
namespace {

using Object = Json::Object;
using Found = std::optional<Word>;

/// (h, h, w, w) or (h, w) as height and width; nothing where the sides differ.
std::optional<Sizes> symmetric(const Sizes& padding) {
  if (padding.size() == 2) return padding;
  if (padding.size() != 4 || padding[0] != padding[1] || padding[2] != padding[3]) {
    return std::nullopt;
  }
  return Sizes{padding[0], padding[2]};
}

Found conv(const NodeView& v) {
  const auto a = v.as<ops::Conv2d>();
  const auto pad = symmetric(a.padding);
  if (!pad || a.groups != 1) return std::nullopt;
  Object param{{"compute_mode", "DEFAULT"},  {"format", a.layout},        {"sparse", "DENSE"},
               {"stride_w", a.stride[1]},    {"stride_h", a.stride[0]},   {"pad_w", (*pad)[1]},
               {"dilate_w", a.dilation[1]},  {"dilate_h", a.dilation[0]}, {"pad_h", (*pad)[0]},
               {"mode", "CROSS_CORRELATION"}};
  if (!v.has(2)) return Word{"ConvolutionForward", std::move(param)};
  param.push_back({"nonlineMode", "IDENTITY"});
  return Word{"ConvBiasForward", std::move(param)};
}

Word pool(const char* mode, const std::string& layout, const Sizes& kernel, const Sizes& stride,
          const Sizes& pad) {
  return {"PoolingForward", Object{{"format", layout},
                                   {"window_w", kernel[1]},
                                   {"window_h", kernel[0]},
                                   {"stride_w", stride[1]},
                                   {"stride_h", stride[0]},
                                   {"pad_w", pad[1]},
                                   {"pad_h", pad[0]},
                                   {"mode", mode}}};
}

Found max_pool(const NodeView& v) {
  const auto a = v.as<ops::MaxPool2d>();
  const auto pad = symmetric(a.padding);
  if (!pad || a.ceil_mode || a.dilation != Sizes{1, 1}) return std::nullopt;
  return pool("MAX", a.layout, a.kernel, a.stride.empty() ? a.kernel : a.stride, *pad);
}

Found avg_pool(const NodeView& v) {
  const auto a = v.as<ops::AvgPool2d>();
  const auto pad = symmetric(a.padding);
  if (!pad || a.ceil_mode) return std::nullopt;
  return pool(a.count_include_pad ? "AVERAGE" : "AVERAGE_COUNT_EXCLUDE_PADDING", a.layout, a.kernel,
              a.stride.empty() ? a.kernel : a.stride, *pad);
}

Found global_pool(const NodeView& v) {
  const auto a = v.as<ops::GlobalPool2d>();
  const Sizes sizes = sizes_of(v.in(0).shape);
  const std::size_t first = a.layout == "NHWC" ? 1 : 2;
  const Sizes window{sizes[first], sizes[first + 1]};
  const bool max = v.op.name == ops::global_max_pool2d.name;
  return pool(max ? "MAX" : "AVERAGE_COUNT_EXCLUDE_PADDING", a.layout, window, window, {0, 0});
}

Word product(const char* type, bool transpose_a, bool transpose_b) {
  return {type, Object{{"format", "DEFAULT"},
                       {"compute_mode", "DEFAULT"},
                       {"transposeB", transpose_b},
                       {"transposeA", transpose_a}}};
}

Found matmul(const NodeView& v) {
  const auto a = v.as<ops::Matmul>();
  const int rank = v.in(0).rank();
  if (rank != v.in(1).rank() || rank < 2 || rank > 3 || a.wide) return std::nullopt;
  if (rank == 3 && !(v.in(0).shape[0] == v.in(1).shape[0])) return std::nullopt;
  return product(rank == 2 ? "MatrixMul" : "BatchedMatrixMul", a.transpose_a, a.transpose_b);
}

Found linear(const NodeView& v) {
  if (v.has(2) || v.in(0).rank() != 2) return std::nullopt;
  return product("MatrixMul", false, true);
}

Found reduction(const NodeView& v) {
  const auto a = v.as<ops::Reduction>();
  if (!a.keep || a.axes.size() != 1) return std::nullopt;
  const std::int64_t axis = a.axes[0] < 0 ? a.axes[0] + v.in(0).rank() : a.axes[0];
  std::string mode(v.op.name);
  std::transform(mode.begin(), mode.end(), mode.begin(),
                 [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c); });
  if (mode == "PROD") mode = "PRODUCT";
  return Word{"Reduce", Object{{"axis", axis}, {"data_type", "DEFAULT"}, {"mode", mode}}};
}

Found shuffle(const NodeView& v) {
  const auto a = v.as<ops::Order>();
  Json::Array pattern(a.order.begin(), a.order.end());
  return Word{"Dimshuffle", Object{{"ndim", v.in(0).rank()}, {"pattern", std::move(pattern)}}};
}

Found join(const NodeView& v) {
  const std::int64_t axis = v.as<ops::Axis>().axis;
  return Word{"Concat", Object{{"axis", axis < 0 ? axis + v.in(0).rank() : axis}}};
}

Found soft(const NodeView& v) {
  return Word{"SoftmaxForward", Object{{"axis", v.as<ops::Axis>().axis}}};
}

Found reshape(const NodeView&) { return Word{"Reshape", Object{}}; }
Found broadcast(const NodeView&) { return Word{"Broadcast", Object{}}; }
Found cast(const NodeView&) { return Word{"TypeCvt", Object{}}; }

struct Row {
  const Op* op;
  Found (*word)(const NodeView& v);
};

constexpr Row kRows[] = {
    {&ops::conv2d, conv},
    {&ops::max_pool2d, max_pool},
    {&ops::avg_pool2d, avg_pool},
    {&ops::global_avg_pool2d, global_pool},
    {&ops::global_max_pool2d, global_pool},
    {&ops::matmul, matmul},
    {&ops::linear, linear},
    {&ops::sum, reduction},
    {&ops::mean, reduction},
    {&ops::max, reduction},
    {&ops::min, reduction},
    {&ops::prod, reduction},
    {&ops::transpose, shuffle},
    {&ops::concat, join},
    {&ops::softmax, soft},
    {&ops::reshape, reshape},
    {&ops::squeeze, reshape},
    {&ops::unsqueeze, reshape},
    {&ops::broadcast_to, broadcast},
    {&ops::cast, cast},
};

Word own_word(const ir::Node& node) {
  Object param;
  for (const auto& [name, value] : node.attrs) param.push_back({name, ir::attr_text(value)});
  return {node.op, std::move(param)};
}

}  // namespace

Word word_for(const ir::Graph& graph, const ir::Node& node) {
  if (node.opaque) return own_word(node);
  const Op& op = op_named(node.op);
  if (const auto mode = mode_of_op(op); !mode.empty() && node.attrs.empty()) {
    return {"Elemwise", Object{{"mode", std::string(mode)}}};
  }
  for (const Row& row : kRows) {
    if (row.op->name != op.name) continue;
    if (Found word = row.word(view_of(graph, node))) return *word;
  }
  return own_word(node);
}

}  // namespace plait::io::megengine
