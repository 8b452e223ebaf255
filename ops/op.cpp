// Calling ops, and what their contexts share.
#include "ops/op.h"

#include "base/fits.h"
#include "base/text.h"
#include "ops/builder.h"

namespace plait {

std::string_view colour_name(Colour colour) {
  constexpr std::string_view names[] = {"white", "gray", "clear", "black"};
  return names[static_cast<std::size_t>(colour)];
}

const ir::Type& NodeView::in(int i) const {
  check(has(i), "[", op.name, "] has no operand ", i);
  return *inputs[static_cast<std::size_t>(i)];
}

void NodeView::raise(const std::string& message, std::string_view hint) const {
  std::string text = str("[", op.name, "] ", message);
  if (!where.empty()) text += " (" + where + ")";
  if (!hint.empty()) text += str(". ", hint);
  throw UserError(text);
}

std::string NodeView::operand_text() const {
  std::string out;
  for (int i = 0; i < count(); ++i) {
    std::string_view name = op.inputs[std::min(i, op.inputs.size() - 1)];
    std::string label(name.substr(0, name.find_first_of("?.")));
    if (name.ends_with("...")) label += str(i - op.inputs.size() + 1);
    out += str(out.empty() ? "" : ", ", label, " is ", has(i) ? type_text(in(i)) : "absent");
  }
  return out;
}

namespace {

std::string plain_name(std::string_view name) {
  return std::string(name.substr(0, name.find_first_of("?.")));
}

/// UserError where the number that stands for operand `i` would become another one.
void want_number(const Op& op, const Builder& b, const Operand& o, int i, DType dtype) {
  const std::string why = misfit(*o.number, dtype);
  if (why.empty()) return;
  const std::string path = b.path().empty() ? "" : b.path() + " ";
  fail("[", op.name, "] ", plain_name(op.inputs[std::min(i, op.inputs.size() - 1)]), " is ",
       real_text(*o.number), " beside a tensor of ", dtype, "; ", why, " (", path, o.file, ":",
       o.line, "). Cast the tensor first");
}

}  // namespace

Tensor GradCtx::in(int i) {
  reads_.insert(plain_name(node.op.inputs[std::min(i, node.op.inputs.size() - 1)]));
  Tensor& t = inputs_[static_cast<std::size_t>(i)];
  if (wide_ && t) t = widen(t);
  return t;
}

Tensor GradCtx::out(int i) {
  reads_.insert(plain_name(node.op.outputs[std::min(i, node.op.outputs.size() - 1)]));
  Tensor& t = outputs_[static_cast<std::size_t>(i)];
  if (wide_) t = widen(t);
  return t;
}

Tensor GradCtx::dy(int i) {
  Tensor& t = cotangents_[static_cast<std::size_t>(i)];
  if (!t) t = b.full(0, node.out(i).dtype, node.out(i).shape);
  if (wide_) t = widen(t);
  return t;
}

Tensor GradCtx::save(std::string_view name, Tensor value) {
  saved_.insert(std::string(name));
  reads_ = saved_;
  return value;
}

std::vector<Tensor> Op::call(const std::vector<Operand>& operands, ir::Attrs attributes,
                             bool schema_matches) const {
  for (const Operand& o : operands) {
    if (o.tensor) {
      return call_in(o.tensor.builder(), operands, std::move(attributes), schema_matches);
    }
  }
  fail("[", name, "] at least one operand must be a tensor");
}

std::vector<Tensor> Op::call_in(Builder& b, const std::vector<Operand>& operands,
                                ir::Attrs attributes, bool schema_matches) const {
  if (!schema_matches && !attributes.empty()) {
    fail("[", name, "] was given the attributes of another op");
  }
  // A number takes the dtype of the first tensor that is not a condition.
  DType dtype = DType::f32;
  for (auto it = operands.rbegin(); it != operands.rend(); ++it) {
    if (it->tensor && it->tensor.dtype() != DType::boolean) dtype = it->tensor.dtype();
  }
  std::vector<Tensor> tensors;
  ir::Source source;
  for (const Operand& o : operands) {
    if (o.number) want_number(*this, b, o, static_cast<int>(tensors.size()), dtype);
    tensors.push_back(o.number ? b.constant(*o.number, dtype) : o.tensor);
    source = {o.file, o.line};
  }
  return b.add(*this, tensors, std::move(attributes), std::move(source));
}

}  // namespace plait
