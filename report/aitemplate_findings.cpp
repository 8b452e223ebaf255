// The rules, one function each.
#include "report/aitemplate_findings.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/checked.h"
#include "base/error.h"
#include "io/aitemplate/check.h"

namespace plait::report {

using io::aitemplate::Accessor;
using io::aitemplate::IntVar;
using io::aitemplate::OperatorRecord;
using io::aitemplate::PyValue;
using io::aitemplate::TensorRecord;

namespace {

std::int64_t bytes_moved(const AitView& view) {
  std::int64_t sum = 0;
  for (const OperatorRecord& op : view.record.operators) {
    add_checked(sum, view.bytes(op), "bytes moved");
  }
  return sum;
}

/// `a, b are full tensors and c is a column, not vectors`.
std::string kinds_of(const std::vector<Addend>& addends) {
  constexpr const char* kOne[] = {"a full tensor", "a column", "a broadcast tensor"};
  constexpr const char* kMany[] = {"full tensors", "columns", "broadcast tensors"};
  std::vector<std::string> said;
  for (Addend::Kind kind : {Addend::kFull, Addend::kColumn, Addend::kBroadcast}) {
    std::vector<std::string> names;
    for (const Addend& a : addends) {
      if (a.kind == kind) names.push_back(a.name);
    }
    if (names.empty()) continue;
    said.push_back(join(names, ", ") +
                   (names.size() == 1 ? str(" is ", kOne[kind]) : str(" are ", kMany[kind])));
  }
  return join(said, " and ") + (addends.size() == 1 ? ", not a vector" : ", not vectors");
}

/// A contraction and the elementwise kernel behind it, one finding each.
void find_epilogues(Page& page, const AitView& view) {
  const auto whole = static_cast<double>(bytes_moved(view));
  for (const Epilogue& e : epilogues(view)) {
    const std::int64_t saved = 2 * view.bytes(*e.between);
    const std::string why = e.addends.empty() ? "An"
                                              : str("AITemplate keeps them apart because ",
                                                    kinds_of(e.addends), "; an");
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
  found.what = str("The exec_path of ", counted(found.nodes.size(), "operator", "operators"),
                   " names no kernel.");
  page.findings.push_back(std::move(found));
}

/// A kernel that stores fewer elements at once than its dtype allows, and what makes it do so.
struct NarrowStore {
  const OperatorRecord& op;
  const TensorRecord& y;
  std::int64_t widest;

  const Accessor* accessor() const {
    return op.output_accessors && !op.output_accessors->empty() ? &op.output_accessors->front()
                                                                : nullptr;
  }
  /// What it writes: the whole result, or its part of one.
  const std::vector<IntVar>& shape() const {
    return accessor() ? accessor()->original_shapes : y.shape;
  }
  bool starts_between() const {
    const Accessor* a = accessor();
    return a && a->stride_dim &&
           (a->offset % widest || a->actual_total_elements_from_stride_dim.value_or(0) % widest);
  }

  Finding finding() const {
    const IntVar& last = shape().back();
    const std::int64_t size = last.hi(), stored = *op.epilogue_alignment;
    const std::string multiple = str(" multiple of ", widest);
    std::string what, advice;
    if (!last.is_const()) {
      what = str("runs from ", last.lo(), " to ", size,
                 last.lo() % widest ? str(", and ", last.lo(), " is no", multiple) : "");
      advice = str("The range forces it: one kernel has to fit every size in it. A kernel of its ",
                   "own for multiples of ", widest, " can store ", widest, " at once.");
    } else if (size % widest) {
      const std::int64_t fits = std::gcd(size, widest);
      what = str("is ", size, ", no", multiple);
      advice = str("Pad it to ", (size / widest + 1) * widest, ", or split the last piece off.",
                   fits > stored ? str(" As it is, ", fits, " at once would fit.") : "");
    } else if (starts_between()) {
      what = str("is ", size, ", but its rows in ", y.name, " do not all start at a", multiple);
      advice = str("Place the parts of ", y.name, " at multiples of ", widest, " elements.");
    } else {
      what = str("is ", size, ", a", multiple);
      advice = str("The size does not force it: the alignment recorded is narrower than it could ",
                   "be. ", widest, " at once would fit.");
    }
    return {
        str(op.name, " stores ", counted(static_cast<std::size_t>(stored), "element", "elements"),
            " at once, ", y.dtype, " allows ", widest, ": the last dimension ",
            last.name.value_or("of the result"), " ", what, "."),
        advice,
        {op.name}};
  }
};

void find_narrow(Page& page, const AitView& view) {
  for (const OperatorRecord& op : view.record.operators) {
    if (!op.epilogue_alignment || op.outputs.empty()) continue;
    const TensorRecord& y = view.tensor(op.outputs[0]);
    const DType dtype = io::aitemplate::dtype_of(y.dtype).value_or(DType::f32);
    const auto widest = static_cast<std::int64_t>(16 / size_of(dtype));
    if (*op.epilogue_alignment >= widest || view.elements(y) == 0) continue;
    const NarrowStore store{op, y, widest};
    if (!store.shape().empty()) page.findings.push_back(store.finding());
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
  Finding found;
  std::set<std::string> seen;
  std::int64_t bytes = 0;
  for (const OperatorRecord& op : view.record.operators) {
    if (!AitView::is_contraction(op) || op.op.starts_with("bmm") || op.inputs.size() < 2) continue;
    const TensorRecord& w = view.tensor(op.inputs[1]);
    // A weight has one size.
    const bool ranged =
        !std::all_of(w.shape.begin(), w.shape.end(), [](const IntVar& d) { return d.is_const(); });
    if (!w.is_input || w.is_param.value_or(false) || ranged || !seen.insert(w.name).second)
      continue;
    found.nodes.push_back(w.name);
    add_checked(bytes, view.bytes(w), "bytes fed");
  }
  if (found.nodes.empty()) return;
  const bool one = found.nodes.size() == 1;
  found.what =
      str(counted(found.nodes.size(), "input is used as a weight", "inputs are used as weights"),
          ", but fed with every run: ", bytes_text(bytes), ".");
  found.advice =
      str(one ? "Bind it as a constant: it then needs" : "Bind them as constants: they ",
          one ? "" : "then need", " no copy per run and can be packed for the kernel ", "once.");
  page.findings.push_back(std::move(found));
}

void find_dead(Page& page, const AitView& view) {
  Finding found{"", "What nothing reads need not be made, or fed.", {}};
  std::int64_t bytes = 0;
  for (const TensorRecord& t : view.record.tensors) {
    if (!t.dst_ops.empty() || t.is_output || (t.shape.empty() && t.value)) continue;
    found.nodes.push_back(t.name);
    add_checked(bytes, view.bytes(t), "bytes that nothing reads");
  }
  if (found.nodes.empty()) return;
  found.what = str(counted(found.nodes.size(), "tensor is", "tensors are"),
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
      str(counted(found.nodes.size(), "operator needs", "operators need"),
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
    add_checked(bytes, view.bytes(y), "bytes copied");
  }
  if (found.nodes.empty()) return;
  found.what = str(counted(found.nodes.size(), "operator copies", "operators copy"),
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
  found.what = str(counted(found.nodes.size(), "operator is", "operators are"),
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
