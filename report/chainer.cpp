// Facts of a recorded step: counts, work, memory.
#include "report/chainer.h"

#include <map>
#include <set>

#include "base/at.h"
#include "base/error.h"
#include "passes/measure.h"
#include "report/chainer_memory.h"
#include "report/chainer_step.h"
#include "report/graph.h"

namespace plait::report {
namespace {

using io::chainer::Operation;
using io::chainer::Record;

/// Above this, lifetimes are not packed: packing takes the square of it.
constexpr std::size_t kMaxPlanned = 20'000;

/// `2,151,546,880 (2,151.5 MB)`: plans are compared, so all in one unit.
std::string megabytes(std::int64_t n) {
  if (n < 1'000'000) return bytes_text(n);
  const std::int64_t tenths = (n + 50'000) / 100'000;
  return str(with_commas(n), " (", with_commas(tenths / 10), ".", tenths % 10, " MB)");
}

/// Arrays that forward operations keep, without what is fed and parameters.
std::set<int> retained(const RecordedStep& step) {
  std::set<int> kept;
  for (const Operation& op : step.record.operations) {
    if (op.backward) continue;
    for (std::int64_t i : op.retained_inputs.value_or(std::vector<std::int64_t>())) {
      const int v = op.inputs[static_cast<std::size_t>(i)].variable;
      if (step.links.maker[at(v)] >= 0) kept.insert(v);
    }
    for (std::int64_t i : op.retained_outputs.value_or(std::vector<std::int64_t>())) {
      kept.insert(op.outputs[static_cast<std::size_t>(i)]);
    }
  }
  return kept;
}

void add_counts(Page& page, const RecordedStep& step) {
  const Record& r = step.record;
  std::int64_t parameters = 0, parameter_bytes = 0, fed = 0, produced = 0, kept_bytes = 0;
  for (std::size_t i = 0; i < r.variables.size(); ++i) {
    const int v = static_cast<int>(i);
    if (r.variables[i].is_parameter()) {
      ++parameters;
      parameter_bytes += step.bytes(v);
    } else {
      (step.is_fed(v) ? fed : produced) += step.bytes(v);
    }
  }
  const std::set<int> kept = retained(step);
  for (int v : kept) kept_bytes += step.bytes(v);
  const auto forward = static_cast<std::int64_t>(step.links.forward_order.size());
  const auto backward = static_cast<std::int64_t>(step.links.backward_order.size());
  page.section("The document").facts = {
      count("variables", static_cast<std::int64_t>(r.variables.size())),
      {"operations",
       str(with_commas(forward + backward), " (", with_commas(forward), " forward, ",
           with_commas(backward), " backward)"),
       static_cast<double>(forward + backward)},
      count("parameter tensors", parameters),
      count("parameters", parameter_bytes / step.element_bytes),
      bytes("parameter bytes", parameter_bytes),
      bytes("fed", fed),
      words("produced values", megabytes(produced)),
      words("retained for the backward",
            str(megabytes(kept_bytes), " in ", kept.size(), " tensors")),
  };
}

struct FunctionSums {
  std::int64_t forward = 0, backward = 0, work = 0, made = 0;
};

void add_functions(Page& page, const RecordedStep& step) {
  std::map<std::string, FunctionSums> sums;
  std::int64_t forward = 0, all = 0;
  for (std::size_t i = 0; i < step.record.operations.size(); ++i) {
    const Operation& op = step.record.operations[i];
    FunctionSums& s = sums[op.function];
    const std::int64_t work = step.work(static_cast<int>(i));
    ++(op.backward ? s.backward : s.forward);
    s.work += work;
    all += work;
    if (op.backward) continue;
    forward += work;
    for (int v : op.outputs) s.made += step.bytes(v);
  }
  Section& section = page.section("Work by function, from sizes and attributes");
  section.facts = {
      count("operations, forward", forward),
      count("operations, step", all),
      count("operations, step as Plait runs it", measure(step.graph).operations),
  };
  section.table = {{"function", "forward", "backward", "operations", "bytes made"},
                   {false, true, true, true, true},
                   {}};
  for (const auto& [name, s] : sums) {
    section.table.rows.push_back({name, with_commas(s.forward), with_commas(s.backward),
                                  with_commas(s.work), bytes_text(s.made)});
  }
}

void add_memory(Page& page, const RecordedStep& step) {
  Section& section = page.section("Memory of a step, parameters and their gradients left out");
  if (step.record.operations.size() > kMaxPlanned) {
    section.facts = {words(
        "lifetimes", str("not computed for more than ", with_commas(kMaxPlanned), " operations"))};
    return;
  }
  const auto figures = [&](const StepRules& rules) {
    return memory_figures(step_buffers(step.record, step.links, rules, step.element_bytes));
  };
  std::int64_t parameters = 0;
  for (const auto& v : step.record.variables) parameters += v.is_parameter() ? v.bytes : 0;
  const MemoryFigures own = figures({.views = false}), kept = figures({.keep_arrays = true});
  const MemoryFigures tags = figures({.trust_tags = true}), less = figures({.saves_less = true});
  section.facts = {words("parameters and their gradients", megabytes(2 * parameters))};
  section.table = {{"plan", "bytes", "of lifetimes"}, {false, true, true}, {}};
  const auto row = [&](const std::string& plan, std::int64_t n) {
    section.table.rows.push_back(
        {plan, megabytes(n),
         percent_text(static_cast<double>(n), static_cast<double>(step.memory.peak_bytes))});
  };
  row("every value and gradient its own buffer", own.keep_all_bytes);
  row("all activations kept, gradients by lifetime", kept.peak_bytes);
  row("lifetimes, keeping what the backward records read", tags.peak_bytes);
  row("lifetimes + retain lists", step.memory.peak_bytes);
  row("the same in one arena, greedy offsets", step.memory.shared_bytes);
  if (less.peak_bytes < step.memory.peak_bytes) {
    row("max-pool keeps a byte per maximum, ReLU in place", less.peak_bytes);
  }
}

void add_left_out(Page& page, const RecordedStep& step, const io::Import& import) {
  std::int64_t masks = 0, dropouts = 0;
  bool convolves = false;
  for (const Operation& op : step.record.operations) {
    convolves |= op.function == "Convolution2DFunction";
    if (op.backward || op.function != "Dropout" || op.outputs.empty()) continue;
    ++dropouts;
    masks += step.bytes(op.outputs[0]) / step.element_bytes;
  }
  Section& section = page.section("Not in the document");
  section.facts.push_back(words("shapes", "inferred from bytes and attributes"));
  if (dropouts > 0) {
    section.facts.push_back(
        words("dropout masks", str(dropouts, " of ", with_commas(masks), " elements together")));
  }
  if (convolves) section.facts.push_back(words("workspaces", "of the convolution library"));
  section.facts.push_back(words("optimizer", "its states and updates"));
  for (const std::string& note : import.notes) section.facts.push_back(words("note", note));
}

std::int64_t element_bytes_of(const ir::Graph& graph) {
  for (const ir::Value& v : graph.values) {
    if (is_float(v.type.dtype)) return static_cast<std::int64_t>(size_of(v.type.dtype));
  }
  return 4;
}

}  // namespace

Page of_chainer(const Record& record, const io::Import& import) {
  check(import.package.graphs.size() == 1, "a step is one graph");
  RecordedStep step{
      record, links_of(record), ir::substitute(import.package.graphs[0], import.bindings()), 4, {}};
  step.element_bytes = element_bytes_of(step.graph);
  if (record.operations.size() <= kMaxPlanned) {
    step.memory = memory_figures(step_buffers(record, step.links, {}, step.element_bytes));
  }
  Page page{"Chainer step " + record.file, {}, {}};
  add_counts(page, step);
  add_functions(page, step);
  add_memory(page, step);
  if (record.operations.size() <= kMaxPlanned) add_graph(page, step.graph);
  add_left_out(page, step, import);
  add_chainer_findings(page, step);
  return page;
}

}  // namespace plait::report
