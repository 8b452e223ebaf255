// The rules, one function each.
#include "report/aitemplate_findings.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "io/aitemplate/check.h"

namespace plait::report {

using io::aitemplate::IntVar;
using io::aitemplate::OperatorRecord;
using io::aitemplate::PyValue;
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
    sum += bytes(tensor(name));
  }
  for (const std::string& name : op.outputs) sum += bytes(tensor(name));
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
        if (!vector) e.addends.push_back(other);
      }
      out.push_back(std::move(e));
      break;
    }
  }
  return out;
}

namespace {

std::string plural(std::size_t n, const char* one, const char* many) {
  return str(n, " ", n == 1 ? one : many);
}

std::int64_t bytes_moved(const AitView& view) {
  std::int64_t sum = 0;
  for (const OperatorRecord& op : view.record.operators) sum += view.bytes(op);
  return sum;
}

/// A contraction and the elementwise kernel behind it, one finding each.
void find_epilogues(Page& page, const AitView& view) {
  const auto whole = static_cast<double>(bytes_moved(view));
  for (const Epilogue& e : epilogues(view)) {
    const std::int64_t saved = 2 * view.bytes(*e.between);
    const std::string why = e.addends.empty()
                                ? "An"
                                : str("AITemplate keeps them apart because ", join(e.addends, ", "),
                                      e.addends.size() == 1 ? " is a full tensor, not a vector; an"
                                                            : " are full tensors, not vectors; an");
    page.findings.push_back(
        {str("One kernel is right for ", e.contraction->name, " and ", e.elementwise->name, ": ",
             e.between->name, " (", bytes_text(view.bytes(*e.between)),
             ") is written by one and read by the other alone. One kernel moves ",
             bytes_text(saved), " less, ", percent_text(static_cast<double>(saved), whole),
             " of all bytes moved."),
         why + " epilogue that reads its operands tile by tile does both in one pass.",
         {e.contraction->name, e.elementwise->name}});
  }
}

void find_unsearched(Page& page, const AitView& view) {
  Finding found{"",
                "No kernel was profiled yet, so nothing is known about speed; the document is "
                "from before the search.",
                {}};
  for (const OperatorRecord& op : view.record.operators) {
    if (!op.exec_path || op.exec_path->empty()) continue;
    const bool none = std::all_of(op.exec_path->begin(), op.exec_path->end(), [](const auto& p) {
      return p.kernel.is(PyValue::kText) && p.kernel.text.empty();
    });
    const bool profiled = op.find("has_profiler") && op.find("has_profiler")->whole;
    if (none && profiled) found.nodes.push_back(op.name);
  }
  if (found.nodes.empty()) return;
  found.what = str("The exec_path of ", plural(found.nodes.size(), "operator", "operators"),
                   " names no kernel.");
  page.findings.push_back(std::move(found));
}

void find_narrow(Page& page, const AitView& view) {
  for (const OperatorRecord& op : view.record.operators) {
    if (!op.epilogue_alignment || op.outputs.empty()) continue;
    const TensorRecord& y = view.tensor(op.outputs[0]);
    const DType dtype = io::aitemplate::dtype_of(y.dtype).value_or(DType::f32);
    const auto widest = static_cast<std::int64_t>(16 / size_of(dtype));
    if (*op.epilogue_alignment >= widest || y.shape.empty()) continue;
    const IntVar& last = y.shape.back();
    page.findings.push_back(
        {str(op.name, " stores ", *op.epilogue_alignment, " elements at once, ", y.dtype,
             " allows ", widest, ": the last dimension ", last.name.value_or("of the result"),
             " is ", last.hi(), last.hi() % widest ? str(", no multiple of ", widest) : "", "."),
         str("Pad it to ", (last.hi() + widest - 1) / widest * widest,
             ", or split the last piece off."),
         {op.name}});
  }
}

/// AITemplate names a dimension TENSOR_dim_N; any other name is the user's.
bool is_given_name(const AitView& view, const std::string& name) {
  const std::size_t at = name.rfind("_dim_");
  if (at == std::string::npos || name.find_first_not_of("0123456789", at + 5) != name.npos) {
    return true;
  }
  const std::string stem = name.substr(0, at);
  return std::none_of(view.record.tensors.begin(), view.record.tensors.end(),
                      [&](const TensorRecord& t) { return t.name == stem; });
}

void find_frozen(Page& page, const AitView& view) {
  std::map<std::string, std::int64_t> frozen;
  for (const TensorRecord& t : view.record.tensors) {
    for (const IntVar& d : t.shape) {
      if (t.is_input && d.name && d.is_const() && !frozen.contains(*d.name) &&
          is_given_name(view, *d.name)) {
        frozen[*d.name] = d.hi();
      }
    }
  }
  if (frozen.empty()) return;
  Finding found{"",
                "The compiled model takes this size alone. If it should vary, give the "
                "dimension a range; one kernel per range is then chosen at run time.",
                {}};
  std::vector<std::string> said;
  for (const auto& [name, value] : frozen) {
    said.push_back(str(name, " = ", value));
    found.nodes.push_back(name);
  }
  found.what = str("Named like a symbol, but a constant: ", join(said, ", "), ".");
  page.findings.push_back(std::move(found));
}

void find_fed_weights(Page& page, const AitView& view) {
  Finding found{"",
                "Bind them as constants: they then need no copy per run and can be packed for "
                "the kernel once.",
                {}};
  std::set<std::string> seen;
  std::int64_t bytes = 0;
  for (const OperatorRecord& op : view.record.operators) {
    if (!AitView::is_contraction(op) || op.op.starts_with("bmm") || op.inputs.size() < 2) continue;
    const TensorRecord& w = view.tensor(op.inputs[1]);
    if (!w.is_input || w.is_param.value_or(false) || !seen.insert(w.name).second) continue;
    found.nodes.push_back(w.name);
    bytes += view.bytes(w);
  }
  if (found.nodes.empty()) return;
  found.what = str(plural(found.nodes.size(), "input is", "inputs are"),
                   " used as weights, but fed with every run: ", bytes_text(bytes), ".");
  page.findings.push_back(std::move(found));
}

void find_dead(Page& page, const AitView& view) {
  Finding found{"", "What nothing reads need not be made, or fed.", {}};
  std::int64_t bytes = 0;
  for (const TensorRecord& t : view.record.tensors) {
    if (!t.dst_ops.empty() || t.is_output || (t.shape.empty() && t.value)) continue;
    found.nodes.push_back(t.name);
    bytes += view.bytes(t);
  }
  if (found.nodes.empty()) return;
  found.what = str(plural(found.nodes.size(), "tensor is", "tensors are"),
                   " read by nothing: ", bytes_text(bytes), ".");
  page.findings.push_back(std::move(found));
}

void find_workspace(Page& page, const AitView& view) {
  Finding found{"", "", {}};
  std::int64_t largest = 0;
  for (const OperatorRecord& op : view.record.operators) {
    if (op.workspace.value_or(0) <= 0) continue;
    found.nodes.push_back(op.name);
    largest = std::max(largest, *op.workspace);
  }
  if (found.nodes.empty()) return;
  found.what =
      str(plural(found.nodes.size(), "operator needs", "operators need"),
          " a workspace, the largest ", bytes_text(largest), "; it is not among the tensors.");
  page.findings.push_back(std::move(found));
}

void find_copies(Page& page, const AitView& view) {
  Finding found{"", "Nothing writes in place, so readers can take the original.", {}};
  std::int64_t bytes = 0;
  for (const OperatorRecord& op : view.record.operators) {
    if (op.outputs.empty()) continue;
    const TensorRecord& y = view.tensor(op.outputs[0]);
    const bool copy =
        op.op == "identity" || (AitView::is_view(op) && !op.inputs.empty() && !y.is_view_of &&
                                view.elements(view.tensor(op.inputs[0])) == view.elements(y));
    if (!copy) continue;
    found.nodes.push_back(op.name);
    bytes += view.bytes(y);
  }
  if (found.nodes.empty()) return;
  found.what = str(plural(found.nodes.size(), "operator copies", "operators copy"),
                   " what could be a view: ", bytes_text(bytes), " written again.");
  page.findings.push_back(std::move(found));
}

void find_unknown(Page& page, const io::Import& import) {
  Finding found{"", "Reports and plans work; running is refused.", {}};
  std::set<std::string> ops;
  for (const ir::Graph& graph : import.package.graphs) {
    for (const ir::Node& node : graph.nodes) {
      if (!node.opaque) continue;
      found.nodes.push_back(node.path.empty() ? node.op : node.path);
      ops.insert(node.op);
    }
  }
  if (found.nodes.empty()) return;
  found.what = str(plural(found.nodes.size(), "operator is", "operators are"),
                   " not known to Plait: ", join({ops.begin(), ops.end()}, ", "), ".");
  page.findings.push_back(std::move(found));
}

}  // namespace

void add_aitemplate_findings(Page& page, const AitView& view, const io::Import& import) {
  find_epilogues(page, view);
  find_unsearched(page, view);
  find_narrow(page, view);
  find_frozen(page, view);
  find_fed_weights(page, view);
  find_dead(page, view);
  find_workspace(page, view);
  find_copies(page, view);
  find_unknown(page, import);
}

}  // namespace plait::report
