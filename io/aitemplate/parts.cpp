// Slices that accessors stand for, and joining what they wrote.
#include "io/aitemplate/parts.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "ir/rewrite.h"
#include "ops/infer.h"
#include "ops/shape.h"

namespace plait::io::aitemplate {
namespace {

struct Span {
  int axis = 0;
  std::int64_t start = 0, size = 0, whole = 0;  // elements along the axis
};

Sizes most_of(const std::vector<IntVar>& shape) {
  Sizes out;
  for (const IntVar& d : shape) out.push_back(d.hi());
  return out;
}

/// What the accessor's stride and offset cut out of the tensor.
Span span_of(Kernel& k, const TensorRecord& t, const Accessor& a) {
  const auto axis = static_cast<std::size_t>(*a.stride_dim);
  const std::vector<IntVar>& actual = *a.actual_shapes;
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < actual.size(); ++i) inner *= actual[i].hi();
  const std::int64_t total = *a.original_total_elements_from_stride_dim;
  if (inner < 1 || total < 0 || total % inner || a.offset % inner) {
    k.fail("addresses '", t.name, "' with offset ", a.offset, " and ", total,
           total == 1 ? " element" : " elements", ", which is no whole number of rows of ", inner);
  }
  const Span s{static_cast<int>(axis), a.offset / inner, total / inner, actual[axis].hi()};
  if (!actual[axis].is_const() || s.start > s.whole || s.size > s.whole - s.start) {
    k.fail("addresses elements ", s.start, " to ", s.start + s.size, " of axis ", axis, " of '",
           t.name, "', which has ", s.whole);
  }
  return s;
}

void want_actual(Kernel& k, const TensorRecord& t, const Accessor& a) {
  const std::vector<IntVar>& said = a.actual_shapes ? *a.actual_shapes : a.original_shapes;
  if (most_of(said) == most_of(t.shape)) return;
  k.fail("addresses '", t.name, "' as ", shape_text(most_of(said)), ", but it is ",
         shape_text(most_of(t.shape)));
}

}  // namespace

Tensor accessed(Kernel& k, const Tensor& value, const TensorRecord& t, const Accessor& a) {
  want_actual(k, t, a);
  Tensor x = value;
  if (a.stride_dim) {
    const Span s = span_of(k, t, a);
    if (s.size != s.whole) {
      k.pin(x, s.axis);
      const ops::Slice cut{.axes = {s.axis},
                           .starts = {Dim(s.start)},
                           .stops = {Dim(s.start + s.size)},
                           .steps = {}};
      x = k.add(ops::slice, {x}, cut);
    }
  } else if (a.offset != 0) {
    k.fail("addresses '", t.name, "' from element ", a.offset, " without a stride_dim");
  }
  const Sizes wanted = most_of(a.original_shapes);
  return k.sizes.numbers(x.shape()) == wanted ? x : k.reshape(x, a.original_shapes);
}

std::optional<Part> written_part(Kernel& k, const Tensor& y, const TensorRecord& t,
                                 const Accessor& a) {
  want_actual(k, t, a);
  if (!a.stride_dim) return std::nullopt;
  const Span s = span_of(k, t, a);
  if (s.size == s.whole) return std::nullopt;
  std::vector<IntVar> shape = *a.actual_shapes;
  IntVar& cut = shape[static_cast<std::size_t>(s.axis)];
  cut.name.reset();
  cut.values = {s.size};
  const bool same = k.sizes.numbers(y.shape()) == most_of(shape);
  return Part{s.start, s.size, same ? y : k.reshape(y, shape)};
}

bool joins_in_part(const OperatorRecord& op) {
  const PyValue* masks = op.op == "concatenate" ? op.find("input_masks") : nullptr;
  if (!masks || op.outputs.size() != 1) return false;
  return std::any_of(masks->items.begin(), masks->items.end(),
                     [](const PyValue& mask) { return mask.is(PyValue::kBool) && !mask.whole; });
}

Tensor joined_parts(Kernel& k, const TensorRecord& t, std::vector<Part> parts, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  if (axis < 0 || at >= t.shape.size()) k.fail("writes parts of '", t.name, "' along no axis");
  const auto loose =
      std::stable_partition(parts.begin(), parts.end(), [](const Part& p) { return p.start >= 0; });
  std::stable_sort(parts.begin(), loose,
                   [](const Part& p, const Part& q) { return p.start < q.start; });
  std::vector<Tensor> in_order;
  std::int64_t end = 0;
  auto next = parts.begin(), filler = loose;
  const std::int64_t whole = t.shape[at].hi();
  while (end < whole) {
    const bool placed = next != loose && next->start == end;
    if (!placed && (filler == parts.end() || (next != loose && next->start < end))) {
      k.fail("leaves '", t.name, "' with a gap or an overlap at element ", end, " of axis ", axis);
    }
    const Tensor value = placed ? (next++)->value : (filler++)->value;
    if (at >= value.shape().size()) k.fail("joins tensors of unequal rank to '", t.name, "'");
    const std::int64_t size = k.sizes.number(value.shape()[at]);
    if (size < 1) k.fail("joins an empty part to '", t.name, "'");
    end += size;
    in_order.push_back(value);
  }
  if (end != whole || next != loose || filler != parts.end()) {
    k.fail("writes more parts of '", t.name, "' than axis ", axis, " of ", whole, " holds");
  }
  for (const Tensor& value : in_order) {
    for (int i = 0; i < value.rank(); ++i) {
      if (i != static_cast<int>(axis)) k.unify(in_order[0], i, value, i);
    }
  }
  return k.add(ops::concat, in_order, ops::Axis{.axis = axis});
}

void expect(Kernel& k, const Tensor& y, const std::vector<IntVar>& shape, DType dtype,
            const std::string& name) {
  if (y.dtype() == dtype && k.sizes.numbers(y.shape()) == most_of(shape)) return;
  k.fail("makes ", y.type(), ", the document says that '", name, "' is ", dtype,
         shape_text(most_of(shape)));
}

ir::Graph renamed(const ir::Graph& graph, const std::map<ir::ValueId, std::string>& names) {
  ir::Rewriter rewriter(graph);
  std::unordered_set<std::string> taken;
  for (const auto& [id, name] : names) taken.insert(name);
  for (ir::ValueId id : graph.feeds) taken.insert(graph.value(id).name);
  for (const ir::StateUse& use : graph.states) taken.insert(use.state.name);
  for (const ir::Node& node : graph.nodes) {
    std::vector<std::string> outputs;
    for (ir::ValueId id : node.outputs) {
      const auto it = names.find(id);
      const std::string stem = node.path.empty() ? node.op : node.path + "." + node.op;
      std::string name = it != names.end() ? it->second : stem;
      if (it == names.end()) {
        for (int n = 1; !taken.insert(name).second; ++n) name = str(stem, n);
      }
      outputs.push_back(std::move(name));
    }
    rewriter.put(node.outputs, rewriter.carried(node), std::move(outputs));
  }
  return rewriter.finish();
}

}  // namespace plait::io::aitemplate
