// Which sizes get names.
#include "io/oneflow/sizes.h"

#include <set>
#include <unordered_map>

namespace plait::io::oneflow {
namespace {

using ByName = std::unordered_map<std::string_view, const TracedOp*>;

ByName makers(const Record& record) {
  ByName out;
  for (const TracedOp& op : record.ops) {
    for (const Port& port : op.outputs) {
      for (const std::string& tensor : port.tensors) out.emplace(tensor, &op);
    }
  }
  return out;
}

const Port* port_of(const TracedOp& op, std::string_view key) {
  for (const Port& p : op.inputs) {
    if (p.key == key && p.tensors.size() == 1) return &p;
  }
  return nullptr;
}

}  // namespace

const TracedOp* find_embedding(const Record& record) {
  const ByName by_tensor = makers(record);
  for (const TracedOp& op : record.ops) {
    if (op.type != "gather") continue;
    const Port *table = port_of(op, "in"), *ids = port_of(op, "indices");
    if (!table || !ids) continue;
    const TracedOp* variable = by_tensor.at(table->tensors[0]);
    const TracedOp* input = by_tensor.at(ids->tensors[0]);
    if (variable->kind == OpKind::kVariable && variable->blob->shape.size() == 2 &&
        input->kind == OpKind::kInput && input->blob->shape.size() == 2) {
      return variable;
    }
  }
  return nullptr;
}

NamedSizes::NamedSizes(const Record& record, Import& import, bool named) {
  const TracedOp* table = named ? find_embedding(record) : nullptr;
  const TracedOp* first = nullptr;  // input
  for (const TracedOp& op : record.ops) {
    if (op.kind == OpKind::kInput && !first && !op.blob->shape.empty()) first = &op;
  }
  const auto name = [&](const char* word, std::int64_t size) -> std::optional<Dim> {
    if (size < 1) return {};
    return import.named(word, size);
  };
  if (named && first) batch_ = name("batch", first->blob->shape[0]);
  if (table && first && first->blob->shape.size() == 2) {
    time_ = name("time", first->blob->shape[1]);
    vocab_ = name("vocab", table->blob->shape[0]);
    width_ = name("width", table->blob->shape[1]);
  }
  bindings_ = import.bindings();
  if (!vocab_ || !width_) return;
  // One size of the matrices may be none of these: that of the copy head.
  std::set<std::int64_t> others;
  for (const TracedOp& op : record.ops) {
    if (op.kind != OpKind::kVariable || op.blob->shape.size() != 2) continue;
    for (std::int64_t size : op.blob->shape) {
      if (size > 1 && parameter_size(size).is_const()) others.insert(size);
    }
  }
  if (others.size() == 1) copy_ = name("copy", *others.begin());
  bindings_ = import.bindings();
}

Shape NamedSizes::feed(const Sizes& sizes) const {
  Shape shape = shape_of(sizes);
  if (batch_ && !sizes.empty() && sizes[0] == evaluate(*batch_, bindings_)) shape[0] = *batch_;
  if (time_ && sizes.size() == 2 && sizes[1] == evaluate(*time_, bindings_)) shape[1] = *time_;
  return shape;
}

Dim NamedSizes::parameter_size(std::int64_t size) const {
  if (width_ && size > 1) {
    const std::int64_t width = evaluate(*width_, bindings_);
    if (size == width) return *width_;
    if (vocab_ && size == evaluate(*vocab_, bindings_)) return *vocab_;
    if (width > 1 && size % width == 0) return Dim(size / width) * *width_;
    if (copy_ && size == evaluate(*copy_, bindings_)) return *copy_;
  }
  return Dim(size);
}

Shape NamedSizes::parameter(const Sizes& sizes, bool embedding) const {
  if (embedding && vocab_ && width_) return {*vocab_, *width_};
  Shape shape;
  for (std::int64_t size : sizes) shape.push_back(parameter_size(size));
  return shape;
}

Shape NamedSizes::buffer(const Sizes& sizes) const {
  Shape shape = parameter(sizes, false);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (time_ && sizes[i] > 1 && sizes[i] == evaluate(*time_, bindings_)) shape[i] = *time_;
  }
  return shape;
}

Dim NamedSizes::depth(std::int64_t size) const {
  return vocab_ && size == evaluate(*vocab_, bindings_) ? *vocab_ : Dim(size);
}

}  // namespace plait::io::oneflow
