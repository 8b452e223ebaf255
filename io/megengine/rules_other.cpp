// Matrix products, reductions and what only moves elements; the table of all rules.
#include <algorithm>
#include <limits>

#include "io/megengine/translate.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"
#include "ops/contract.h"
#include "ops/infer.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/softmax.h"
#include "ops/unary.h"

namespace plait::io::megengine {
namespace {

std::optional<Tensor> matrix_product(Call& c) {
  const Params& p = c.params;
  if (!p.known() || p.text("format", "DEFAULT") != "DEFAULT" || c.count() != 2) return std::nullopt;
  return c.last(ops::matmul, {c.in(0), c.in(1)},
                ops::Matmul{p.boolean("transposeA", false), p.boolean("transposeB", false)});
}

const Op* reduction_of(const std::string& mode) {
  if (mode == "SUM" || mode == "SUM_SQR") return &ops::sum;
  if (mode == "MEAN") return &ops::mean;
  if (mode == "MAX") return &ops::max;
  if (mode == "MIN") return &ops::min;
  if (mode == "PRODUCT") return &ops::prod;
  return nullptr;
}

/// The axes that a reduction to `out` sums over: those of size 1 there, aligned at the end.
std::vector<std::int64_t> axes_to(const Sizes& from, const Sizes& out) {
  std::vector<std::int64_t> axes;
  const std::size_t ahead = from.size() - std::min(from.size(), out.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < ahead || (out[i - ahead] == 1 && from[i] != 1)) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  return axes;
}

/// Along one axis, which stays with size 1; or, without an axis, to the recorded shape.
std::optional<Tensor> reduce(Call& c) {
  const std::string mode = c.params.text("mode", ""), type = c.params.text("data_type", "DEFAULT");
  const Op* op = reduction_of(mode);
  if (!op || type != "DEFAULT" || c.count() < 1) return std::nullopt;
  Tensor x = c.in(0);
  if (mode == "SUM_SQR") x = x.square();
  const std::int64_t axis = c.params.integer("axis", std::numeric_limits<std::int32_t>::max());
  const bool to_shape = axis == std::numeric_limits<std::int32_t>::max() || c.count() > 1;
  if (!to_shape) return c.last(*op, {x}, ops::Reduction{{axis}, true});
  const Sizes out = c.recorded();
  const auto axes = axes_to(sizes_of(x.shape(), c.t.bindings), out);
  if (axes.empty()) return c.last(ops::copy, {x});
  const Tensor y = c.t.b.add(*op, {x}, ir::encode(ops::Reduction{axes, true}))[0];
  return c.last(ops::reshape, {y}, ops::ShapeTo{c.t.reshaped(y, out)});
}

/// To the shape that was recorded: its operand on the host is not computed here.
std::optional<Tensor> reshape(Call& c) {
  return c.last(ops::reshape, {c.in(0)}, ops::ShapeTo{c.t.reshaped(c.in(0), c.recorded())});
}

std::optional<Tensor> broadcast(Call& c) {
  const Tensor x = c.in(0);
  const Sizes from = sizes_of(x.shape(), c.t.bindings), to = c.recorded();
  Shape shape = plait::shape_of(to);
  if (to.size() < from.size()) return std::nullopt;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t ahead = to.size() - from.size();
    if (i >= ahead && from[i - ahead] == to[i]) {
      shape[i] = x.shape()[i - ahead];
      continue;
    }
    for (const auto& [name, size] : c.t.import.sizes) {
      if (size == to[i]) fail("it may mean the size ", name, " or the number ", size);
    }
  }
  return c.last(ops::broadcast_to, {x}, ops::ShapeTo{shape});
}

/// `pattern` lists axes of the operand, -1 for a new one; axes left out have size 1.
std::optional<Tensor> dimshuffle(Call& c) {
  const Json* pattern = c.params.find("pattern");
  const Tensor x = c.in(0);
  if (!pattern || !pattern->as<Json::Array>()) return std::nullopt;
  std::vector<std::int64_t> order, added;
  for (const Json& item : *pattern->as<Json::Array>()) {
    const auto* axis = item.as<std::int64_t>();
    if (!axis || *axis < -1 || *axis >= x.rank()) return std::nullopt;
    if (*axis < 0) {
      added.push_back(static_cast<std::int64_t>(order.size() + added.size()));
    } else {
      if (std::find(order.begin(), order.end(), *axis) != order.end()) return std::nullopt;
      order.push_back(*axis);
    }
  }
  Shape squeezed;
  std::vector<std::int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t axis : sorted) squeezed.push_back(x.dim(static_cast<int>(axis)));
  const Tensor flat = squeezed.size() == x.shape().size() ? x : x.reshape(squeezed);
  for (std::int64_t& axis : order) {
    axis = std::lower_bound(sorted.begin(), sorted.end(), axis) - sorted.begin();
  }
  if (added.empty()) return c.last(ops::transpose, {flat}, ops::Order{order});
  return c.last(ops::unsqueeze, {flat.transpose(order)}, ops::Axes{added});
}

std::optional<Tensor> concat(Call& c) {
  if (!c.params.known() || c.count() == 0) return std::nullopt;
  std::vector<Tensor> parts;
  for (int i = 0; i < c.count(); ++i) parts.push_back(c.in(i));
  return c.last(ops::concat, parts, ops::Axis{c.params.integer("axis", 0)});
}

struct Cut {
  std::int64_t axis = 0, start = 0, stop = 0, step = 1;
  bool drops = false;  // one index: its axis goes
};

/// One entry of Subtensor's `param`, which says only what is there: the numbers are operands.
std::optional<Cut> read_cut(const Call& c, const Json& desc, int rank, int& operand) {
  const auto flag = [&](std::string_view key) {
    const Json* json = desc.find(key);
    const auto* n = json ? json->as<std::int64_t>() : nullptr;
    return n ? *n : 0;
  };
  bool known = true;
  const auto next = [&](std::int64_t otherwise) {
    const auto numbers = operand < c.count() ? c.numbers(operand) : std::nullopt;
    ++operand;
    known = known && numbers && numbers->size() == 1;
    return known ? (*numbers)[0] : otherwise;
  };
  Cut cut;
  cut.axis = flag("axis") < 0 ? flag("axis") + rank : flag("axis");
  if (cut.axis < 0 || cut.axis >= rank) return std::nullopt;
  cut.stop = std::numeric_limits<std::int32_t>::max();
  if (flag("begin")) cut.start = next(0);
  if (flag("end")) cut.stop = next(0);
  if (flag("step")) cut.step = next(1);
  if (flag("idx")) {
    cut.start = next(0);
    cut.stop = cut.start == -1 ? std::numeric_limits<std::int32_t>::max() : cut.start + 1;
    cut.drops = true;
  }
  return known && cut.step > 0 ? std::optional(cut) : std::nullopt;
}

std::optional<Tensor> subtensor(Call& c) {
  if (!c.params.known() || !c.params.json().as<Json::Array>()) return std::nullopt;
  const Tensor x = c.in(0);
  ops::Slice slice;
  std::vector<std::int64_t> dropped;
  int operand = 1;
  for (const Json& desc : *c.params.json().as<Json::Array>()) {
    const std::optional<Cut> cut = read_cut(c, desc, x.rank(), operand);
    if (!cut) return std::nullopt;
    slice.axes.push_back(cut->axis);
    slice.starts.push_back(cut->start);
    slice.stops.push_back(cut->stop);
    slice.steps.push_back(cut->step);
    if (cut->drops) dropped.push_back(cut->axis);
  }
  if (slice.axes.empty()) return c.last(ops::copy, {x});
  if (dropped.empty()) return c.last(ops::slice, {x}, slice);
  return c.last(ops::squeeze, {c.t.b.add(ops::slice, {x}, ir::encode(slice))[0]},
                ops::Axes{dropped});
}

std::optional<Tensor> type_cvt(Call& c) {
  const std::optional<DType> dtype = c.recorded_dtype();
  if (!dtype) return std::nullopt;
  return c.last(ops::cast, {c.in(0)}, ops::Cast{*dtype});
}

std::optional<Tensor> pow_const(Call& c) {
  if (!c.params.find("exp")) return std::nullopt;
  const Tensor x = c.in(0);
  return c.last(ops::pow, {x, c.t.b.constant(c.params.real("exp", 0), x.dtype())});
}

std::optional<Tensor> softmax(Call& c) {
  if (!c.params.find("axis")) return std::nullopt;
  return c.last(ops::softmax, {c.in(0)}, ops::Axis{c.params.integer("axis", -1)});
}

std::optional<Tensor> copied(Call& c) { return c.last(ops::copy, {c.in(0)}); }
std::optional<Tensor> same(Call& c) { return c.in(0); }

struct Row {
  std::string_view type;
  Rule rule;
};

constexpr Row kRules[] = {
    {"AdaptivePoolingForward", adaptive_pooling},
    {"AxisAddRemove", reshape},
    {"BatchNormForward", batch_norm},
    {"BatchedMatrixMul", matrix_product},
    {"Broadcast", broadcast},
    {"Concat", concat},
    {"ConvBiasForward", conv_bias},
    {"ConvolutionBackwardData", conv_input_grad},
    {"ConvolutionBackwardFilter", conv_weight_grad},
    {"ConvolutionForward", convolution},
    {"Copy", copied},
    {"Dimshuffle", dimshuffle},
    {"Elemwise", elemwise},
    {"Identity", same},
    {"MarkNoBroadcastElemwise", same},
    {"MatrixMul", matrix_product},
    {"PoolingForward", pooling},
    {"PowC", pow_const},
    {"Reduce", reduce},
    {"Reshape", reshape},
    {"SoftmaxForward", softmax},
    {"Subtensor", subtensor},
    {"TypeCvt", type_cvt},
};

}  // namespace

Rule rule_for(std::string_view type) {
  for (const Row& row : kRules) {
    if (row.type == type) return row.rule;
  }
  return nullptr;
}

}  // namespace plait::io::megengine
