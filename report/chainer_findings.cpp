// What is wrong with a recorded step, or could be cheaper: each finding with its figures and the
// operations it is about.
#include <set>

#include "base/at.h"
#include "base/error.h"
#include "report/chainer_memory.h"
#include "report/chainer_step.h"

namespace plait::report {
namespace {

using io::chainer::Input;
using io::chainer::Operation;
using io::chainer::Tag;

std::string share(std::int64_t part, std::int64_t whole) {
  return percent_text(static_cast<double>(part), static_cast<double>(whole));
}

/// One operation whose own arrays are half of the peak: no plan of others' memory passes it.
void find_wall(Page& page, const RecordedStep& step) {
  int widest = -1;
  std::int64_t most = 0, work = 0;
  for (std::size_t i = 0; i < step.record.operations.size(); ++i) {
    const int op = static_cast<int>(i);
    const std::int64_t needs = step.working_set(op), its_work = step.work(op);
    if (needs < most || (needs == most && its_work <= work)) continue;
    most = needs;
    work = its_work;
    widest = op;
  }
  if (widest < 0 || step.links.backward_order.empty() || 2 * most < step.memory.peak_bytes) return;
  if (step.record.operations.size() < 8) return;  // of a few operations one is always large
  page.findings.push_back(
      {str("One operation is the wall: it needs ", bytes_text(most), " by itself, ",
           share(most, step.memory.peak_bytes), " of the peak ", bytes_text(step.memory.peak_bytes),
           "."),
       "Neither recomputing nor swapping other values goes below it; slicing it over the batch "
       "does.",
       {step.label(step.record.operations[at(widest)])}});
}

void find_cheaper_saves(Page& page, const RecordedStep& step) {
  const MemoryFigures less = memory_figures(
      step_buffers(step.record, step.links, {.saves_less = true}, step.element_bytes));
  if (less.peak_bytes * 20 > step.memory.peak_bytes * 19) return;
  Finding found{str("Keeping less for the backward lowers the peak from ",
                    bytes_text(step.memory.peak_bytes), " to ", bytes_text(less.peak_bytes), ", ",
                    share(less.peak_bytes, step.memory.peak_bytes), " of it, for no extra work."),
                "A max-pooling needs the position of its maximum, one byte, not its input; a ReLU "
                "can work in place.",
                {}};
  for (int i : step.links.forward_order) {
    const Operation& op = step.record.operations[at(i)];
    const bool retains = op.retained_inputs && !op.retained_inputs->empty();
    if (op.function == "MaxPooling2D" && retains) found.nodes.push_back(step.label(op));
  }
  for (int i : step.links.forward_order) {
    const Operation& op = step.record.operations[at(i)];
    if (op.function == "ReLU") found.nodes.push_back(step.label(op));
  }
  page.findings.push_back(std::move(found));
}

/// Whether the forward of a backward retains this variable.
bool retains(const Operation& forward, const Input& in) {
  const bool input = in.tag == Tag::kInput;
  const auto& kept = input ? forward.retained_inputs : forward.retained_outputs;
  for (std::int64_t i : kept.value_or(std::vector<std::int64_t>())) {
    const auto n = static_cast<std::size_t>(i);
    if ((input ? forward.inputs[n].variable : forward.outputs[n]) == in.variable) return true;
  }
  return false;
}

void find_overstated(Page& page, const RecordedStep& step) {
  Finding found{"",
                "The retain indexes are the truth: a plan by the records' inputs keeps more "
                "than it must.",
                {}};
  std::set<int> arrays;
  std::int64_t bytes = 0;
  for (int i : step.links.backward_order) {
    const int forward = step.links.forward_of[at(i)];
    if (forward < 0) continue;
    const Operation& op = step.record.operations[at(i)];
    bool overstates = false;
    for (const Input& in : op.inputs) {
      if (in.tag == Tag::kGradient || retains(step.record.operations[at(forward)], in)) continue;
      overstates = true;
      if (arrays.insert(in.variable).second) bytes += step.bytes(in.variable);
    }
    if (overstates) found.nodes.push_back(step.label(op));
  }
  if (found.nodes.empty()) return;
  found.what = str(counted(found.nodes.size(), "backward record", "backward records"),
                   " read arrays that their functions do not retain: ",
                   counted(arrays.size(), "array", "arrays"), ", ", bytes_text(bytes), ".");
  page.findings.push_back(std::move(found));
}

void find_dead(Page& page, const RecordedStep& step) {
  std::vector<int> reads(step.record.variables.size(), 0), gradient_reads = reads;
  for (const Operation& op : step.record.operations) {
    for (const Input& in : op.inputs) {
      ++(in.tag == Tag::kGradient ? gradient_reads : reads)[at(in.variable)];
    }
  }
  Finding gradients{"",
                    "Nothing reads them: a backward that is not asked for them saves their "
                    "work and memory.",
                    {}};
  std::int64_t bytes = 0;
  for (const Operation& op : step.record.operations) {
    if (!op.backward) continue;
    for (int v : op.outputs) {
      if (step.record.variables[at(v)].is_parameter() || gradient_reads[at(v)] > 0) continue;
      bytes += step.bytes(v);
      gradients.nodes.push_back(str("d_", step.name(v), " of ", step.label(op)));
    }
  }
  if (!gradients.nodes.empty()) {
    gradients.what =
        str(counted(gradients.nodes.size(), "gradient", "gradients"),
            " that a backward record makes and nothing reads: ", bytes_text(bytes), ".");
    page.findings.push_back(std::move(gradients));
  }
  Finding unread{"", "Are they connected to the loss?", {}};
  for (std::size_t v = 0; v < reads.size(); ++v) {
    const int i = static_cast<int>(v);
    if (step.record.variables[v].is_parameter() && reads[v] == 0) {
      unread.nodes.push_back(step.name(i));
    }
  }
  if (unread.nodes.empty()) return;
  unread.what =
      str(counted(unread.nodes.size(), "parameter", "parameters"), " that no operation reads.");
  page.findings.push_back(std::move(unread));
}

/// Pointwise operations behind a contraction whose result only they read.
void find_epilogues(Page& page, const RecordedStep& step) {
  std::vector<int> readers(step.record.variables.size(), 0);
  std::int64_t all = 0, saved = 0;
  for (const Operation& op : step.record.operations) {
    for (const Input& in : op.inputs) {
      if (!op.backward) ++readers[at(in.variable)];
      if (!op.backward) all += step.bytes(in.variable);
    }
    for (int v : op.outputs) all += op.backward ? 0 : step.bytes(v);
  }
  Finding found{"",
                "Computed in the kernel that makes their operand, they cost no traffic of their "
                "own.",
                {}};
  std::vector<bool> rides(step.record.variables.size(), false);
  for (int i : step.links.forward_order) {
    const Operation& op = step.record.operations[at(i)];
    if (op.inputs.empty() || op.outputs.size() != 1) continue;
    const int x = op.inputs[0].variable;
    bool fits = is_contraction(op.function);
    if (is_pointwise(op.function) && rides[at(x)] && readers[at(x)] == 1) {
      fits = true;
      saved += 2 * step.bytes(x);
      found.nodes.push_back(step.label(op));
    }
    rides[at(op.outputs[0])] = fits;
  }
  if (found.nodes.empty()) return;
  found.what = str(counted(found.nodes.size(), "pointwise operation", "pointwise operations"),
                   " behind a contraction could be its epilogue: ", bytes_text(saved),
                   " less to write and read again, ", share(saved, all),
                   " of the bytes that the forward moves.");
  page.findings.push_back(std::move(found));
}

void find_opaque(Page& page, const RecordedStep& step) {
  Finding found{"",
                "They are opaque nodes: reports and plans count their memory, running is "
                "refused.",
                {}};
  std::set<std::string> functions;
  for (const ir::Node& node : step.graph.nodes) {
    if (!node.opaque) continue;
    functions.insert(node.op);
    found.nodes.push_back(str(step.graph.value(node.outputs[0]).name, " (", node.op, ", line ",
                              node.source.line, ")"));
  }
  if (found.nodes.empty()) return;
  std::string names;
  for (const std::string& f : functions) names += (names.empty() ? "" : ", ") + f;
  if (names.size() > 300) names = names.substr(0, 300) + "...";
  found.what = str(counted(found.nodes.size(), "operation", "operations"),
                   " that Plait lacks, or whose sizes do not explain each other: ", names, ".");
  page.findings.push_back(std::move(found));
}

}  // namespace

void add_chainer_findings(Page& page, const RecordedStep& step) {
  if (step.memory.peak_bytes > 0) {
    find_wall(page, step);
    find_cheaper_saves(page, step);
  }
  find_overstated(page, step);
  find_dead(page, step);
  find_epilogues(page, step);
  find_opaque(page, step);
}

}  // namespace plait::report
