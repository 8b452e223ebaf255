// Ops that move or rename elements.
#include "base/text.h"
#include "io/aitemplate/check.h"
#include "io/aitemplate/kernel.h"
#include "ops/activation.h"
#include "ops/compare.h"
#include "ops/shape.h"

namespace plait::io::aitemplate {
namespace {

std::optional<std::vector<std::int64_t>> order_of(Kernel& k) {
  const std::string& op = k.op.op;
  if (op == "permute") return k.wholes("dims");
  if (op == "permute0213") return {{0, 2, 1, 3}};
  if (op == "permute102") return {{1, 0, 2}};
  if (op == "permute210") return {{2, 1, 0}};
  if (op != "permute021") return std::nullopt;
  std::vector<std::int64_t> order;  // the last two of however many
  for (int i = 0; i < k.in[0].rank(); ++i) order.push_back(i);
  if (order.size() >= 2) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return order;
}

/// Which of a list are still there; all when the document does not say.
std::vector<bool> masks(Kernel& k, std::string_view key, std::size_t count) {
  std::vector<bool> out(count, true);
  const PyValue* list = k.op.find(key);
  if (!list || !list->is(PyValue::kList)) return out;
  out.clear();
  for (const PyValue& item : list->items) out.push_back(item.is(PyValue::kBool) && item.whole);
  return out;
}

Results split_axis(Kernel& k) {
  ops::Split a;
  a.axis = k.whole("split_dim");
  a.sizes = shape_of(k.wholes("split_sizes"));
  k.pin(k.in[0], static_cast<int>(a.axis));
  const std::vector<Tensor> parts = k.b.add(ops::split, {k.in[0]}, ir::encode(a));
  const std::vector<bool> kept = masks(k, "output_masks", parts.size());
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < parts.size() && i < kept.size(); ++i) {
    if (kept[i]) out.push_back(parts[i]);
  }
  return out;
}

Results concatenate(Kernel& k) {
  k.want_inputs(1);
  const std::int64_t axis = k.whole("concat_dim");
  for (std::size_t i = 1; i < k.in.size(); ++i) {
    for (int d = 0; d < k.in[0].rank(); ++d) {
      if (d != axis && d - k.in[0].rank() != axis) k.unify(k.in[0], d, k.in[i], d);
    }
  }
  Tensor y = k.add(ops::concat, k.in, ops::Axis{.axis = axis});
  if (k.op.op == "concatenate_tanh") y = k.add(ops::tanh, {y});
  return std::vector<Tensor>{y};
}

Results slice(Kernel& k) {
  const auto ends = [&](std::string_view key) -> const std::vector<PyValue>& {
    const PyValue& v = k.attribute(key);
    if (v.items.size() != static_cast<std::size_t>(k.in[0].rank())) {
      k.fail("has ", v.items.size(), " ", key, " for ",
             counted(static_cast<std::size_t>(k.in[0].rank()), "axis", "axes"));
    }
    return v.items;
  };
  const std::vector<PyValue>&starts = ends("start_indices"), &stops = ends("end_indices");
  ops::Slice a;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool from = starts[i].is(PyValue::kInt) && starts[i].whole != 0;
    if (!from && !stops[i].is(PyValue::kInt)) continue;
    k.pin(k.in[0], static_cast<int>(i));
    const Dim size = k.in[0].shape()[i];
    a.axes.push_back(static_cast<std::int64_t>(i));
    a.starts.push_back(from ? Dim(starts[i].whole) : Dim(0));
    a.stops.push_back(stops[i].is(PyValue::kInt) ? Dim(stops[i].whole) : size);
  }
  return std::vector<Tensor>{k.add(ops::slice, {k.in[0]}, a)};
}

/// The whole shape is that of the result; axes that are not broadcast keep the operand's size.
Results expand(Kernel& k) {
  Shape target = k.sizes.of(k.shapes[0]);
  const Shape& from = k.in[0].shape();
  if (from.size() > target.size()) {
    k.fail("expands ", counted(from.size(), "axis", "axes"), " to ", target.size());
  }
  const std::size_t more = target.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (k.sizes.number(from[i]) == k.sizes.number(target[i + more])) target[i + more] = from[i];
  }
  return std::vector<Tensor>{k.add(ops::broadcast_to, {k.in[0]}, ops::ShapeTo{.shape = target})};
}

Results pad_last(Kernel& k, std::int64_t size) {
  k.pin(k.in[0], -1);
  ops::Pad a;
  a.low.assign(static_cast<std::size_t>(k.in[0].rank()), Dim(0));
  a.high = a.low;
  a.high.back() = Dim(size) - k.in[0].dim(-1);
  return std::vector<Tensor>{k.add(ops::pad, {k.in[0]}, a)};
}

DType dtype_named(Kernel& k, std::string_view key) {
  const PyValue& v = k.attribute(key);
  const std::optional<DType> dtype =
      v.is(PyValue::kText) ? dtype_of(v.text) : std::optional<DType>();
  if (!dtype) k.fail("needs a dtype as '", key, "', found ", describe(v));
  return *dtype;
}

Results full(Kernel& k) {
  const DType dtype = dtype_named(k, "dtype");
  return std::vector<Tensor>{k.b.full(k.real("fill_value", 0), dtype, k.sizes.of(k.shapes[0]))};
}

Results where(Kernel& k) {
  std::vector<Tensor> operands;
  if (!k.op.args) {
    operands = k.in;
  } else {
    std::vector<Argument> args;
    for (const std::string& name : names_in(PyValue::list(*k.op.args))) {
      args.push_back(k.lookup(name));
    }
    DType dtype = DType::f32;
    for (std::size_t i = 1; i < args.size(); ++i) {
      if (const Tensor* t = std::get_if<Tensor>(&args[i])) dtype = t->dtype();
    }
    for (const Argument& a : args) {
      const Tensor* t = std::get_if<Tensor>(&a);
      operands.push_back(t ? *t : k.constant(std::get<double>(a), dtype));
    }
  }
  if (operands.size() != 3) k.fail("needs a condition and two values, has ", operands.size());
  return std::vector<Tensor>{k.add(ops::where, operands)};
}

}  // namespace

Results move(Kernel& k) {
  const std::string& op = k.op.op;
  if (op == "full") return full(k);
  if (op == "where") return where(k);
  if (k.in.empty() || !k.in[0] || k.shapes.empty()) return std::nullopt;
  if (op == "reshape" || op == "flatten" || op == "squeeze" || op == "unsqueeze") {
    return std::vector<Tensor>{k.reshape(k.in[0], k.shapes[0])};
  }
  if (op == "expand") return expand(k);
  if (const auto order = order_of(k)) {
    return std::vector<Tensor>{k.add(ops::transpose, {k.in[0]}, ops::Order{.order = *order})};
  }
  if (op == "split") return split_axis(k);
  if (op == "concatenate" || op == "concatenate_tanh") return concatenate(k);
  if (op == "dynamic_slice") return slice(k);
  if (op == "identity") return std::vector<Tensor>{k.add(ops::copy, {k.in[0]})};
  if (op == "cast") return std::vector<Tensor>{k.in[0].cast(dtype_named(k, "cast_dtype"))};
  if (op == "pad_last_dim") return pad_last(k, k.whole("out_dim"));
  if (op == "nhwc3to8" || op == "nhwc3to4") return pad_last(k, op.back() - '0');
  return std::nullopt;
}

}  // namespace plait::io::aitemplate
