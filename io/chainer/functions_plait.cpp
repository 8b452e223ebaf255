// Ops under their own names: records that Plait wrote where Chainer has no function. They carry the
// types of their operands.
#include "io/chainer/functions.h"
#include "io/chainer/words.h"
#include "ops/table.h"

namespace plait::io::chainer {
namespace {

const std::vector<Value>* list(const Members& attributes, std::string_view name) {
  const Value* value = find(attributes, name);
  return value ? std::get_if<std::vector<Value>>(&value->data) : nullptr;
}

/// The shape by its named sizes: rows of the batch stay rows.
Shape shape_in(Call& c, const Value& value) {
  const auto* items = std::get_if<std::vector<Value>>(&value.data);
  if (!items || items->size() > 16) fail("has operands without sizes");
  Shape shape;
  for (const Value& item : *items) {
    const auto n = whole(item);
    if (!n || *n < 0) fail("has an operand of size ", json_text(item).substr(0, 40));
    shape.push_back(shape.empty() ? c.batch(*n) : Dim(*n));
  }
  return shape;
}

Tensor operand(Call& c, int i, const Value& shape, const Value& dtype) {
  const auto* name = std::get_if<std::string>(&dtype.data);
  const auto type = name ? dtype_named(*name) : std::nullopt;
  if (!type) fail("has an operand of no dtype");
  if (!c.known(i)) return c.as(i, shape_in(c, shape), *type);
  const Tensor t = c.in(i);
  if (t.dtype() != *type || c.numbers(t.shape()) != c.numbers(shape_in(c, shape))) {
    fail("operand ", i, " is ", t.type(), " elsewhere, ", *name, json_text(shape), " here");
  }
  return t;
}

}  // namespace

std::vector<Tensor> plait_op(Call& c) {
  const Op& op = op_named(c.op.function);
  const auto* shapes = list(c.op.attributes, kShapes);
  const auto* dtypes = list(c.op.attributes, kDTypes);
  const auto inputs = static_cast<std::size_t>(c.count());
  if (!shapes || !dtypes || shapes->size() != inputs || dtypes->size() != inputs) {
    fail("does not say the types of its ", inputs, " operands");
  }
  const Sizes positions = c.list(kPositions);
  if (!positions.empty() && positions.size() != inputs) fail("has operands at no positions");
  std::vector<Tensor> operands(inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::size_t at = positions.empty() ? i : static_cast<std::size_t>(positions[i]);
    if (at > 64) fail("has an operand at position ", at);
    if (at >= operands.size()) operands.resize(at + 1);
    operands[at] = operand(c, static_cast<int>(i), (*shapes)[i], (*dtypes)[i]);
  }
  ir::Attrs attrs;
  for (const Member& m : c.op.attributes) {
    if (m.name.starts_with('_') || m.name == "rank" || m.name == "lazy_grad_sum") continue;
    attrs.set(m.name, value_attr(m.value));
  }
  std::vector<Tensor> results = c.b.add(op, operands, attrs);
  if (static_cast<int>(results.size()) > c.outputs()) {
    results.resize(static_cast<std::size_t>(c.outputs()));
  }
  return results;
}

}  // namespace plait::io::chainer
