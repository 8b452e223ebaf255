// Attributes and sizes of an operator.
#include "io/aitemplate/kernel.h"

#include <algorithm>

#include "base/text.h"
#include "ops/shape.h"

namespace plait::io::aitemplate {

void Kernel::want_inputs(std::size_t least) const {
  if (in.size() < least) {
    fail("needs ", counted(least, "input", "inputs"), ", has ", in.size());
  }
  for (const Tensor& t : in) {
    if (!t) fail("reads a size as if it were a tensor");
  }
}

const PyValue& Kernel::attribute(std::string_view key) const {
  const PyValue* v = op.find(key);
  if (!v) fail("has no '", key, "'");
  return *v;
}

std::int64_t Kernel::whole(std::string_view key) const {
  const PyValue& v = attribute(key);
  if (!v.is(PyValue::kInt)) fail("needs a whole number as '", key, "', found ", describe(v));
  return v.whole;
}

double Kernel::real(std::string_view key, double otherwise) const {
  const PyValue* v = op.find(key);
  if (!v) return otherwise;
  if (v->is(PyValue::kInt)) return static_cast<double>(v->whole);
  if (!v->is(PyValue::kFloat)) fail("needs a number as '", key, "', found ", describe(*v));
  return v->real;
}

bool Kernel::flag(std::string_view key, bool otherwise) const {
  const PyValue* v = op.find(key);
  if (!v) return otherwise;
  if (!v->is(PyValue::kBool)) fail("needs True or False as '", key, "', found ", describe(*v));
  return v->whole != 0;
}

std::vector<std::int64_t> Kernel::wholes(std::string_view key) const {
  const PyValue& v = attribute(key);
  if (v.is(PyValue::kInt)) return {v.whole};
  std::vector<std::int64_t> out;
  if (!v.is(PyValue::kList) && !v.is(PyValue::kTuple)) {
    fail("needs whole numbers as '", key, "', found ", describe(v));
  }
  for (const PyValue& item : v.items) {
    if (!item.is(PyValue::kInt)) {
      fail("needs whole numbers in '", key, "', found ", describe(item));
    }
    out.push_back(item.whole);
  }
  return out;
}

Sizes Kernel::pair(std::string_view key, std::int64_t otherwise) const {
  if (!op.find(key)) return {otherwise, otherwise};
  Sizes out = wholes(key);
  if (out.size() == 1) out.push_back(out[0]);
  if (out.size() != 2) fail("needs one or two numbers as '", key, "', has ", out.size());
  return out;
}

Tensor Kernel::add(const Op& op_of_graph, const std::vector<Tensor>& operands, ir::Attrs attrs) {
  return b.add(op_of_graph, operands, std::move(attrs))[0];
}

void Kernel::unify(const Tensor& x, int axis_x, const Tensor& y, int axis_y) {
  const auto at = [](const Tensor& t, int axis) { return axis < 0 ? axis + t.rank() : axis; };
  const int i = at(x, axis_x), j = at(y, axis_y);
  if (i < 0 || i >= x.rank() || j < 0 || j >= y.rank()) return;
  const Dim p = x.shape()[static_cast<std::size_t>(i)], q = y.shape()[static_cast<std::size_t>(j)];
  if (p == q) return;
  // A size that broadcasts stays 1.
  if (sizes.number(p) != sizes.number(q)) {
    if (sizes.number(p) == 1) sizes.pin(b.graph(), p);
    if (sizes.number(q) == 1) sizes.pin(b.graph(), q);
    return;
  }
  sizes.unify(b.graph(), p, q);
}

void Kernel::unify_broadcast(const Tensor& x, const Tensor& y) {
  for (int axis = 1; axis <= std::min(x.rank(), y.rank()); ++axis) unify(x, -axis, y, -axis);
}

void Kernel::pin(const Tensor& t, int axis) {
  if (axis < 0) axis += t.rank();
  if (axis < 0 || axis >= t.rank()) return;
  sizes.pin(b.graph(), Dim(t.shape()[static_cast<std::size_t>(axis)]));
}

void Kernel::fit_window(const Tensor& t, int axis, std::int64_t window, std::int64_t padding) {
  if (axis >= t.rank()) return;
  sizes.raise(b.graph(), Dim(t.shape()[static_cast<std::size_t>(axis)]), window - padding);
}

Tensor Kernel::reshape(const Tensor& x, const std::vector<IntVar>& shape) {
  Shape target = sizes.of(shape);
  if (target == x.shape()) return x;
  if (!(element_count(target) == x.type().elements())) {
    const Sizes wanted = sizes.numbers(target);
    if (auto found = reshaped(x.shape(), wanted, sizes.values())) {
      target = std::move(*found);
    } else {
      for (int axis = 0; axis < x.rank(); ++axis) pin(x, axis);
      target = sizes.of(shape);
    }
  }
  return add(ops::reshape, {x}, ops::ShapeTo{.shape = std::move(target)});
}

}  // namespace plait::io::aitemplate
