// Operations that Plait lacks, or that do not fit, as opaque nodes.
#include "base/at.h"
#include "io/chainer/step.h"

namespace plait::io::chainer {
namespace {

template <class From, class To>
std::optional<std::vector<To>> list_of(const std::vector<Value>& items) {
  std::vector<To> out;
  for (const Value& item : items) {
    const From* x = std::get_if<From>(&item.data);
    if (!x) return {};
    out.push_back(To(*x));
  }
  return out;
}

/// A list of one kind, or its JSON text.
ir::AttrValue attr_of(const std::vector<Value>& items) {
  if (auto numbers = list_of<std::int64_t, Dim>(items)) return *numbers;
  if (auto reals = list_of<double, double>(items)) return *reals;
  if (auto words = list_of<std::string, std::string>(items)) return *words;
  return json_text(Value{items});
}

/// Attributes of an op that Plait lacks, as far as a graph can hold them; the rest as JSON text.
ir::Attrs attrs_of(const Members& members) {
  ir::Attrs attrs;
  for (const Member& m : members) {
    if (std::holds_alternative<std::monostate>(m.value.data) || m.name.empty()) continue;
    if (const auto* b = std::get_if<bool>(&m.value.data)) {
      attrs.set(m.name, *b);
    } else if (const auto* n = std::get_if<std::int64_t>(&m.value.data)) {
      attrs.set(m.name, Dim(*n));
    } else if (const auto* x = std::get_if<double>(&m.value.data)) {
      attrs.set(m.name, *x);
    } else if (const auto* s = std::get_if<std::string>(&m.value.data)) {
      attrs.set(m.name, *s);
    } else if (const auto* items = std::get_if<std::vector<Value>>(&m.value.data)) {
      attrs.set(m.name, attr_of(*items));
    } else {
      attrs.set(m.name, json_text(m.value));
    }
  }
  return attrs;
}

}  // namespace

/// Like the operand with as many bytes, as most functions are; a number by itself; else flat.
ir::Type Step::opaque_type(const Operation& op, int variable) const {
  const std::int64_t bytes = record_.variables[at(variable)].bytes;
  for (const Input& in : op.inputs) {
    const Known& known = variables_[at(in.variable)];
    if (known.type && !known.parameter && is_float(known.type->dtype) &&
        record_.variables[at(in.variable)].bytes == bytes) {
      return *known.type;
    }
  }
  const auto size = static_cast<std::int64_t>(size_of(real_));
  if (bytes % size != 0) return {DType::u8, {bytes}};
  return {real_, bytes == size ? Shape{} : Shape{bytes / size}};
}

void Step::add_opaque_forward(const Operation& op) {
  const Origin origin = origin_of(op);
  ir::Node node{op.function, {}, {}, attrs_of(op.attributes), origin.path, origin.source, true};
  for (const Input& in : op.inputs) node.inputs.push_back(value_of(in.variable));
  std::vector<ir::Type> types;
  std::vector<std::string> names;
  for (int v : op.outputs) {
    types.push_back(opaque_type(op, v));
    names.push_back(b_.graph().fresh_name(name_of(v)));
  }
  const ir::NodeId id = b_.graph().add_node(std::move(node), types, names);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    values_[at(op.outputs[i])] = b_.graph().node(id).outputs[i];
    variables_[at(op.outputs[i])].type = types[i];
  }
}

void Step::add_opaque_backward(const Operation& op, const std::vector<int>& wanted) {
  const Origin origin = origin_of(op);
  ir::Node node{
      op.function + "_backward", {}, {}, attrs_of(op.attributes), origin.path, origin.source, true};
  for (const Input& in : op.inputs) {
    const bool gradient = in.tag == Tag::kGradient;
    const ir::ValueId value = gradient ? gradient_of(in.variable, origin) : value_of(in.variable);
    if (value != ir::kNone) node.inputs.push_back(value);
  }
  std::vector<ir::Type> types;
  std::vector<std::string> names;
  for (int v : wanted) {
    types.push_back(b_.graph().type(value_of(v)));
    names.push_back(gradient_makers_[at(v)] > 1 ? "" : b_.graph().fresh_name("d_" + name_of(v)));
  }
  const ir::NodeId id = b_.graph().add_node(std::move(node), types, names);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    contributions_[at(wanted[i])].push_back(b_.graph().node(id).outputs[i]);
  }
}

}  // namespace plait::io::chainer
