// The record as the rules ask for it.
#include <set>

#include "base/checked.h"
#include "io/aitemplate/check.h"
#include "report/aitemplate_findings.h"

namespace plait::report {

using io::aitemplate::IntVar;
using io::aitemplate::OperatorRecord;
using io::aitemplate::TensorRecord;

AitView::AitView(const io::aitemplate::Record& r) : record(r) {
  for (const TensorRecord& t : r.tensors) tensors_.emplace(t.name, &t);
  for (const OperatorRecord& op : r.operators) operators_.emplace(op.name, &op);
}

const TensorRecord& AitView::tensor(const std::string& name) const { return *tensors_.at(name); }

const OperatorRecord* AitView::writer(const TensorRecord& t) const {
  if (t.src_ops.size() != 1) return nullptr;
  const auto it = operators_.find(t.src_ops[0]);
  return it == operators_.end() ? nullptr : it->second;
}

std::int64_t AitView::elements(const TensorRecord& t) const {
  std::int64_t n = 1;
  for (const IntVar& d : t.shape) n *= d.hi();
  return n;
}

std::int64_t AitView::bytes(const TensorRecord& t) const {
  const DType dtype = io::aitemplate::dtype_of(t.dtype).value_or(DType::f32);
  return elements(t) * static_cast<std::int64_t>(size_of(dtype));
}

std::int64_t AitView::bytes(const OperatorRecord& op) const {
  if (is_view(op)) return 0;
  std::int64_t sum = 0;
  for (const std::string& name : std::set<std::string>(op.inputs.begin(), op.inputs.end())) {
    add_checked(sum, bytes(tensor(name)), "bytes moved");
  }
  for (const std::string& name : op.outputs) {
    add_checked(sum, bytes(tensor(name)), "bytes moved");
  }
  return sum;
}

bool AitView::is_contraction(const OperatorRecord& op) {
  for (std::string_view family :
       {"conv2d", "transposed_conv2d", "gemm_", "bmm_", "linear", "matmul"}) {
    if (op.op.starts_with(family)) return true;
  }
  return false;
}

bool AitView::is_elementwise(const OperatorRecord& op) {
  return op.elementwise_ops.has_value() || op.op == "elementwise";
}

bool AitView::is_view(const OperatorRecord& op) {
  for (std::string_view name : {"reshape", "flatten", "squeeze", "unsqueeze", "size", "getitem",
                                "list_construct", "tuple_construct", "int_elementwise"}) {
    if (op.op == name) return true;
  }
  return false;
}

namespace {

Addend::Kind kind_of(const AitView& view, const TensorRecord& t, const TensorRecord& result) {
  if (view.elements(t) == view.elements(result)) return Addend::kFull;
  return t.shape.back().hi() == 1 ? Addend::kColumn : Addend::kBroadcast;
}

}  // namespace

std::vector<Epilogue> epilogues(const AitView& view) {
  std::vector<Epilogue> out;
  for (const OperatorRecord& op : view.record.operators) {
    if (!AitView::is_elementwise(op) || op.outputs.empty()) continue;
    const TensorRecord& result = view.tensor(op.outputs[0]);
    for (const std::string& name : op.inputs) {
      const TensorRecord& between = view.tensor(name);
      const OperatorRecord* before = view.writer(between);
      const bool rides = before && AitView::is_contraction(*before) && !between.is_output &&
                         between.dst_ops.size() == 1 &&
                         view.elements(between) == view.elements(result);
      if (!rides) continue;
      Epilogue e{before, &op, &between, {}};
      for (const std::string& other : op.inputs) {
        if (other == name) continue;
        const TensorRecord& t = view.tensor(other);
        const bool vector = t.shape.empty() || view.elements(t) == t.shape.back().hi();
        if (!vector) e.addends.push_back({other, kind_of(view, t, result)});
      }
      out.push_back(std::move(e));
      break;
    }
  }
  return out;
}

}  // namespace plait::report
