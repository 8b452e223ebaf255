// Functions that move and join elements.
#include "io/chainer/functions.h"
#include "ops/shape.h"

namespace plait::io::chainer {
namespace {

using Tensors = std::vector<Tensor>;

Tensors identity(Call& c) { return {ops::copy(c.in(0))}; }

Tensors reshape(Call& c) {
  const Tensor x = c.in(0);
  Sizes target = c.list("shape");
  const std::int64_t all = c.number(x.type().elements());
  std::int64_t rest = 1, open = -1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] < 0) {
      if (open >= 0) fail("two sizes of ", shape_text(target), " are open");
      open = static_cast<std::int64_t>(i);
    } else {
      rest = times(rest, target[i]);
    }
  }
  if (open >= 0) {
    if (rest == 0 || all % rest != 0) fail(x.type(), " cannot be ", shape_text(target));
    target[static_cast<std::size_t>(open)] = all / rest;
  }
  return {x.reshape(c.reshape_of(x.shape(), target))};
}

Tensors transpose(Call& c) {
  const Tensor x = c.in(0);
  std::vector<std::int64_t> order = c.list("axes");
  if (order.empty()) {
    for (int i = x.rank() - 1; i >= 0; --i) order.push_back(i);
  }
  return {x.transpose(order)};
}

Tensors squeeze(Call& c) { return {ops::squeeze(c.in(0), ops::Axes{c.list("axis")})}; }
Tensors expand_dims(Call& c) { return {ops::unsqueeze(c.in(0), ops::Axes{{c.integer("axis")}})}; }

Tensors concat(Call& c) {
  Tensors parts;
  for (int i = 0; i < c.count(); ++i) parts.push_back(c.in(i));
  return c.b.add(ops::concat, parts, ir::encode(ops::Axis{c.integer("axis", 1)}));
}

// Where it is cut follows from the bytes of the pieces.
Tensors split_axis(Call& c) {
  const Tensor x = c.in(0);
  const std::int64_t axis = c.integer("axis");
  if (axis < -x.rank() || axis >= x.rank()) fail("axis ", axis, " of ", x.type());
  const std::int64_t length = c.number(x.dim(static_cast<int>(axis)));
  if (length < 1) fail("cuts an axis of ", length);
  const std::int64_t slab = c.number(x.type().elements()) / length;
  ops::Split split{axis, {}};
  for (int i = 0; i < c.outputs(); ++i) {
    if (slab < 1 || c.out_elements(i) % slab != 0) fail("piece ", i, " is no whole slab");
    split.sizes.push_back(c.out_elements(i) / slab);
  }
  return c.b.add(ops::split, {x}, ir::encode(split));
}

Tensors broadcast_to(Call& c) {
  const Tensor x = c.in(0);
  const Sizes target = c.list(c.has("_shape") ? "_shape" : "shape");
  // Sizes that stay take the name they have.
  Shape shape = shape_of(target);
  for (std::size_t i = 0; i < shape.size() && i < x.shape().size(); ++i) {
    const Dim& own = x.shape()[x.shape().size() - 1 - i];
    Dim& to = shape[shape.size() - 1 - i];
    if (c.number(own) == to.value()) to = own;
  }
  if (shape.size() > 1 && shape[0].is_const()) shape[0] = c.batch(shape[0].value());
  return {x.broadcast_to(shape)};
}

/// Pairs of sizes per axis, from one number, one pair, or a pair each.
Tensors pad(Call& c) {
  const Tensor x = c.in(0);
  const auto rank = static_cast<std::size_t>(x.rank());
  if (c.word("mode", "constant") != "constant") fail("pads by ", c.word("mode", ""));
  const Value* width = find(c.op.attributes, "pad_width");
  if (!width) fail("has no attribute pad_width");
  ops::Pad pad{Shape(rank, 0), Shape(rank, 0), {}, 0};
  const auto set = [&](std::size_t axis, const Value& v) {
    const auto* two = std::get_if<std::vector<Value>>(&v.data);
    const auto low = two && two->size() == 2 ? whole((*two)[0]) : whole(v);
    const auto high = two && two->size() == 2 ? whole((*two)[1]) : whole(v);
    if (!low || !high || *low < 0 || *high < 0) fail("pads by ", json_text(v).substr(0, 40));
    pad.low[axis] = *low;
    pad.high[axis] = *high;
  };
  const auto* list = std::get_if<std::vector<Value>>(&width->data);
  const bool each = list && list->size() == rank && !list->empty() && !whole((*list)[0]);
  for (std::size_t i = 0; i < rank; ++i) set(i, each ? (*list)[i] : *width);
  if (const Value* keywords = find(c.op.attributes, "keywords")) {
    const auto* m = std::get_if<Members>(&keywords->data);
    const Value* value = m ? find(*m, "constant_values") : nullptr;
    if (value) {
      if (!whole(*value) && !std::get_if<double>(&value->data)) fail("pads with several values");
      pad.value =
          whole(*value) ? static_cast<double>(*whole(*value)) : std::get<double>(value->data);
    }
  }
  return {ops::pad(x, pad)};
}

// To the float type of its name, or that its bytes tell.
Tensors cast(Call& c) {
  const Tensor x = c.in(0);
  const std::string type = c.word("type", "");
  for (const auto& [name, dtype] : {std::pair{"float16", DType::f16},
                                    {"float32", DType::f32},
                                    {"float64", DType::f64},
                                    {"int32", DType::i32},
                                    {"int64", DType::i64}}) {
    if (type.find(name) != std::string::npos) return {x.cast(dtype)};
  }
  if (c.bytes(0) == c.out_bytes()) return {ops::copy(x)};
  fail("to a type ", quoted(type.substr(0, 40)));
}

constexpr Function kArrayFunctions[] = {
    {"Identity", identity},
    {"Copy", identity},
    {"Cast", cast},
    {"Reshape", reshape},
    {"Transpose", transpose},
    {"Squeeze", squeeze},
    {"ExpandDims", expand_dims},
    {"Concat", concat},
    {"SplitAxis", split_axis},
    {"BroadcastTo", broadcast_to},
    {"Pad", pad},
};

}  // namespace

std::span<const Function> array_functions() { return kArrayFunctions; }

}  // namespace plait::io::chainer
