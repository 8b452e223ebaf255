// Functions that move, join and cut elements.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "io/chainer/functions.h"
#include "ops/compare.h"
#include "ops/index.h"
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
  return {x.broadcast_to(shape)};
}

/// One entry of an index: a position, a range, a new axis, or all axes that are left.
struct Cut {
  enum Kind { kPosition, kRange, kNewAxis, kRest } kind = kRange;
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;
};

std::optional<std::int64_t> bound(const Value& v) {
  if (std::holds_alternative<std::monostate>(v.data)) return {};
  const auto n = whole(v);
  if (!n) fail("a slice from or to ", json_text(v).substr(0, 40));
  return n;
}

Cut range(const Value& start, const Value& stop, const Value& step) {
  return {Cut::kRange, bound(start), bound(stop), bound(step).value_or(1)};
}

Value bound_in(std::string_view text) {
  const std::string_view word = trim(text);
  if (word == "None") return {};
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
  if (error != std::errc() || end != word.data() + word.size()) fail("a slice with ", word);
  return {n};
}

/// `slice(0, 3, None)`, as Python prints it.
Cut range_in(std::string_view text) {
  if (text == "Ellipsis" || text == "...") return {Cut::kRest, {}, {}, 1};
  if (text == "None" || text == "newaxis") return {Cut::kNewAxis, {}, {}, 1};
  constexpr std::string_view kOpen = "slice(";
  if (!text.starts_with(kOpen) || !text.ends_with(')') || text.size() > 80) {
    fail("an index ", quoted(text.substr(0, 40)));
  }
  const std::vector<std::string> parts =
      split(text.substr(kOpen.size(), text.size() - kOpen.size() - 1), ',');
  if (parts.size() != 3) fail("an index ", quoted(text));
  return range(bound_in(parts[0]), bound_in(parts[1]), bound_in(parts[2]));
}

Cut cut_of(const Value& v) {
  if (const auto n = whole(v)) return {Cut::kPosition, n, {}, 1};
  if (std::holds_alternative<std::monostate>(v.data)) return {Cut::kNewAxis, {}, {}, 1};
  if (const auto* text = std::get_if<std::string>(&v.data)) return range_in(*text);
  if (const auto* list = std::get_if<std::vector<Value>>(&v.data); list && list->size() == 3) {
    return range((*list)[0], (*list)[1], (*list)[2]);
  }
  if (const auto* m = std::get_if<Members>(&v.data)) {
    const auto at = [&](std::string_view name) {
      const Value* value = find(*m, name);
      return value ? *value : Value{};
    };
    return range(at("start"), at("stop"), at("step"));
  }
  fail("an index ", json_text(v).substr(0, 40));
}

/// The cuts, the rest spelled out: one per axis of x, and the new axes.
std::vector<Cut> cuts_of(Call& c, int rank) {
  const Value* slices = find(c.op.attributes, "slices");
  if (!slices) fail("has no attribute slices");
  std::vector<Cut> given;
  if (const auto* list = std::get_if<std::vector<Value>>(&slices->data)) {
    for (const Value& v : *list) given.push_back(cut_of(v));
  } else {
    given.push_back(cut_of(*slices));
  }
  const auto takes_axis = [](const Cut& cut) {
    return cut.kind == Cut::kPosition || cut.kind == Cut::kRange;
  };
  auto left = rank - std::count_if(given.begin(), given.end(), takes_axis);
  if (left < 0) fail("has more indices than axes");
  std::vector<Cut> cuts;
  for (const Cut& cut : given) {
    if (cut.kind != Cut::kRest) {
      cuts.push_back(cut);
      continue;
    }
    for (; left > 0; --left) cuts.push_back({});
  }
  for (; left > 0; --left) cuts.push_back({});
  return cuts;
}

Tensors get_item(Call& c) {
  const Tensor x = c.in(0);
  ops::Slice slice;
  std::vector<std::int64_t> dropped, added;
  std::int64_t axis = 0, result = 0;
  for (const Cut& cut : cuts_of(c, x.rank())) {
    if (cut.kind == Cut::kNewAxis) {
      added.push_back(result++);
      continue;
    }
    if (cut.step < 1) fail("a slice with step ", cut.step);
    const bool position = cut.kind == Cut::kPosition;
    if (position || cut.start || cut.stop || cut.step != 1) {
      const Dim length = x.dim(static_cast<int>(axis));
      const std::int64_t start = cut.start.value_or(0);
      slice.axes.push_back(axis);
      slice.starts.push_back(start);
      slice.stops.push_back(position   ? (start == -1 ? length : Dim(start + 1))
                            : cut.stop ? Dim(*cut.stop)
                                       : length);
      slice.steps.push_back(cut.step);
    }
    if (position) dropped.push_back(axis);
    if (!position) ++result;
    ++axis;
  }
  Tensor y = slice.axes.empty() ? ops::copy(x) : ops::slice(x, slice);
  if (!dropped.empty()) y = y.squeeze(dropped);
  return {added.empty() ? y : y.unsqueeze(added)};
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

// ids, weights [rows, width]
Tensors embed_id(Call& c) {
  if (c.has("ignore_label")) fail("ignores a label");
  Tensor ids;
  if (c.known(0)) {
    ids = c.in(0);
  } else {
    const Shape shape = c.guess(0).value_or(Shape{c.bytes(0) / 4});
    const bool wide = c.number(element_count(shape)) * 8 == c.bytes(0);
    ids = c.as(0, shape, wide ? DType::i64 : DType::i32);
  }
  const std::int64_t count = c.number(ids.type().elements());
  if (count < 1 || c.out_elements() % count != 0) fail(count, " ids make this many elements");
  const std::int64_t width = c.out_elements() / count;
  if (width < 1 || c.elements(1) % width != 0) fail("rows of ", width);
  return {ops::embedding(c.as(1, {c.elements(1) / width, width}), ids)};
}

constexpr Function kRows[] = {
    {"Identity", identity},
    {"Copy", identity},
    {"Cast", cast},
    {"Reshape", reshape},
    {"Transpose", transpose},
    {"Squeeze", squeeze},
    {"ExpandDims", expand_dims},
    {"Concat", concat},
    {"SplitAxis", split_axis},
    {"GetItem", get_item},
    {"BroadcastTo", broadcast_to},
    {"Pad", pad},
    {"EmbedIDFunction", embed_id},
};

}  // namespace

std::span<const Function> array_functions() { return kRows; }

}  // namespace plait::io::chainer
