// Facts of an AITemplate document: what it holds, its sizes, its kernels, its memory.
#include "report/aitemplate.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "report/aitemplate_findings.h"
#include "report/graph.h"

namespace plait::report {

using io::aitemplate::IntVar;
using io::aitemplate::OperatorRecord;
using io::aitemplate::PyValue;
using io::aitemplate::TensorRecord;

namespace {

std::string shape_text_of(const TensorRecord& t) {
  std::vector<std::string> dims;
  for (const IntVar& d : t.shape) {
    dims.push_back(d.is_const() ? std::to_string(d.lo())
                                : str(d.name.value_or("?"), "=", d.lo(), "..", d.hi()));
  }
  return t.dtype + "[" + join(dims, ",") + "]";
}

struct Ranges {
  std::map<std::string, const IntVar*> symbols, constants;
};

Ranges ranges_of(const io::aitemplate::Record& record) {
  Ranges out;
  for (const TensorRecord& t : record.tensors) {
    for (const IntVar& d : t.shape) {
      if (d.name) (d.is_const() ? out.constants : out.symbols).emplace(*d.name, &d);
    }
  }
  return out;
}

void add_counts(Page& page, const AitView& view) {
  std::int64_t inputs = 0, outputs = 0, params = 0, param_elements = 0, kernels = 0, scalars = 0;
  for (const TensorRecord& t : view.record.tensors) {
    inputs += t.is_input;
    outputs += t.is_output;
    if (t.is_input || !t.src_ops.empty() || (t.value && t.shape.empty())) continue;
    ++params;
    add_checked(param_elements, view.elements(t), "parameters");
  }
  std::int64_t moved = 0;
  for (const OperatorRecord& op : view.record.operators) {
    kernels += !AitView::is_view(op);
    scalars += op.elementwise_ops ? static_cast<std::int64_t>(op.elementwise_ops->size()) : 0;
    add_checked(moved, view.bytes(op), "bytes moved");
  }
  const Ranges ranges = ranges_of(view.record);
  const auto fused = static_cast<std::int64_t>(epilogues(view).size());
  Section& s = page.section("Document");
  s.facts = {count("tensors", static_cast<std::int64_t>(view.record.tensors.size())),
             count("operators", static_cast<std::int64_t>(view.record.operators.size())),
             count("inputs", inputs),
             count("outputs", outputs),
             count("constants and parameters", params),
             count("parameters", param_elements),
             count("elementwise ops inside fused kernels", scalars),
             count("named dimensions",
                   static_cast<std::int64_t>(ranges.symbols.size() + ranges.constants.size())),
             count("dimensions with a range", static_cast<std::int64_t>(ranges.symbols.size())),
             words("kernels", str(with_commas(kernels), "; ", with_commas(kernels - fused),
                                  " with every elementwise tail in an epilogue")),
             bytes("bytes moved", moved, "operands read and results written, kernel by kernel")};
  s.table = {{"operator", "op", "reads", "writes"}, {false, false, false, false}, {}};
  for (const OperatorRecord& op : view.record.operators) {
    std::vector<std::string> in, out;
    for (const std::string& n : op.inputs) in.push_back(n + " " + shape_text_of(view.tensor(n)));
    for (const std::string& n : op.outputs) out.push_back(n + " " + shape_text_of(view.tensor(n)));
    s.table.rows.push_back({op.name, op.op, join(in, ", "), join(out, ", ")});
  }
}

void add_symbols(Page& page, const AitView& view) {
  const Ranges ranges = ranges_of(view.record);
  Section& s = page.section("Dimensions");
  if (ranges.symbols.empty()) {
    s.facts.push_back(words("ranges", "none: every dimension is a constant"));
    return;
  }
  s.facts.push_back(words("figures", "below are for the upper end of every range"));
  s.table = {{"symbol", "from", "to"}, {false, true, true}, {}};
  for (const auto& [name, d] : ranges.symbols) {
    s.table.rows.push_back({name, with_commas(d->lo()), with_commas(d->hi())});
  }
}

void add_exec_paths(Page& page, const AitView& view) {
  Section& s = page.section("Kernels by exec_path");
  s.table = {{"operator", "when", "kernel", "epilogue", "alignment", "workspace"},
             {false, false, false, false, true, true},
             {}};
  for (const OperatorRecord& op : view.record.operators) {
    if (!op.exec_path) continue;
    for (const auto& path : *op.exec_path) {
      const bool empty = path.kernel.is(PyValue::kText) && path.kernel.text.empty();
      const std::string kernel =
          path.kernel.is(PyValue::kText) ? path.kernel.text : py_repr(path.kernel);
      s.table.rows.push_back({op.name, path.predicate, empty ? "not yet searched" : kernel,
                              op.epilogue.value_or("-"),
                              op.epilogue_alignment ? std::to_string(*op.epilogue_alignment) : "-",
                              op.workspace ? with_commas(*op.workspace) : "-"});
    }
  }
  if (s.table.rows.empty()) s.facts.push_back(words("exec_path", "none recorded"));
}

void add_memory(Page& page, const AitView& view) {
  std::size_t planned = 0;
  std::int64_t end = 0, between = 0, inputs = 0, outputs = 0, workspace = 0;
  for (const TensorRecord& t : view.record.tensors) {
    if (t.is_input) add_checked(inputs, view.bytes(t), "bytes of inputs");
    if (t.is_output) add_checked(outputs, view.bytes(t), "bytes of outputs");
    if (t.offset) {
      ++planned;
      std::int64_t last = *t.offset;
      add_checked(last, view.bytes(t), "bytes of planned memory");
      end = std::max(end, last);
    }
    if (!t.src_ops.empty() && !t.is_output && !t.is_view_of) {
      add_checked(between, view.bytes(t), "bytes between kernels");
    }
  }
  for (const OperatorRecord& op : view.record.operators) {
    workspace = std::max(workspace, op.workspace.value_or(0));
  }
  Section& s = page.section("Memory as recorded");
  s.facts = {bytes("inputs", inputs), bytes("outputs", outputs),
             bytes("between kernels", between, "each in a buffer of its own"),
             bytes("largest workspace", workspace)};
  if (planned) {
    s.facts.push_back(bytes("planned blob", end, "from " + counted(planned, "offset", "offsets")));
  } else {
    s.facts.push_back(words("planned blob", "no offsets: memory is not planned yet"));
  }
}

}  // namespace

Page of_aitemplate(const io::aitemplate::Record& record, const io::Import& import) {
  const AitView view(record);
  Page page{"AITemplate graph: " + (record.file.empty() ? "made here" : record.file), {}, {}};
  add_counts(page, view);
  add_symbols(page, view);
  add_exec_paths(page, view);
  add_memory(page, view);
  for (const ir::Graph& graph : import.package.graphs) {
    DimBindings most = import.bindings();
    for (const auto& [name, symbol] : ir::symbols_of(graph)) most.try_emplace(name, symbol.hi());
    add_graph(page, ir::substitute(graph, most));
  }
  if (!import.notes.empty()) {
    Section& notes = page.section("Notes");
    for (const std::string& note : import.notes) notes.facts.push_back(words("-", note));
  }
  add_aitemplate_findings(page, view, import);
  return page;
}

}  // namespace plait::report
