// The page of the log: its sections, its memory as printed and as it could be, the traced graph.
#include "report/oneflow.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ops/table.h"
#include "passes/measure.h"
#include "report/graph.h"
#include "report/oneflow_findings.h"
#include "report/oneflow_plan.h"
#include "report/oneflow_sections.h"

namespace plait::report {
namespace {

using namespace io::oneflow;

void add_printed_memory(Page& page, const OneflowFacts& f) {
  const Record& r = f.record;
  if (r.memory.empty()) return;
  const RankMemory& m = r.memory[0];
  const double unit = unit_of(r, f.state_bytes);
  Section& s = page.section(str("Memory of rank ", m.rank, " as printed"));
  const auto size = [&](const std::string& name, double printed, const std::string& note) {
    const std::string text = str(fixed(printed, 2), " \"MiB\"", note.empty() ? "" : ", " + note);
    s.facts.push_back({name, text, printed});
  };
  size("together", m.total, unit == 1e6 ? "which are 10^6 bytes" : "");
  size("chunk", m.chunk, str(m.chunk_blocks, " blocks: activations and temporaries"));
  const auto largest =
      std::max_element(r.blocks.begin(), r.blocks.end(),
                       [](const auto& a, const auto& b) { return a.size < b.size; });
  if (largest != r.blocks.end()) {
    size("largest block", largest->size,
         str("shared by ", with_commas(largest->tensors), " tensors"));
  }
  size("unshared", m.unshared, str(with_commas(m.unshared_blocks), " blocks"));
  size("states", m.states, str(m.state_blocks, " blocks"));
}

void add_lifetimes(Page& page, const OneflowFacts& f, const OneflowPlan& plan) {
  double sum = static_cast<double>(plan.state_bytes);
  for (const Buffer& b : plan.buffers) sum += static_cast<double>(b.bytes);
  if (plan.buffers.empty() || sum > kMostBytes) return;
  const MemoryFigures m = memory_figures(plan.buffers);
  Section& s = page.section("Memory of one process as it could be");
  s.facts = {
      bytes("states", plan.state_bytes),
      bytes("keep all", m.keep_all_bytes, "every tensor in a buffer of its own"),
      bytes("live peak", m.peak_bytes, "by lifetime, in this order: no plan can be below"),
      words("at", f.order[static_cast<std::size_t>(m.peak_step)]->name),
      bytes("shared", m.shared_bytes, "one arena, greedy offsets"),
  };
  if (f.record.memory.empty() || unit_of(f.record, f.state_bytes) == 0) return;
  const RankMemory& printed = f.record.memory[0];
  const double unit = unit_of(f.record, f.state_bytes);
  const double asked = (printed.chunk + printed.unshared) * unit;
  if (!(asked > 0 && asked < kMostBytes)) return;
  s.facts.push_back(bytes("the log's plan", static_cast<std::int64_t>(asked),
                          str("chunk and unshared, ",
                              percent_text(asked - static_cast<double>(m.peak_bytes),
                                           static_cast<double>(m.peak_bytes)),
                              " above the live peak")));
}

/// Whether the sums over the graph fit 64 bits.
bool adds_up(const ir::Graph& graph) {
  double sum = 0;
  try {
    for (const ir::Node& node : graph.nodes) {
      sum += static_cast<double>(operations_of(graph, node).value());
      sum += static_cast<double>(bytes_of(graph, node).value());
    }
  } catch (const UserError&) {
    return false;
  }
  for (const ir::StateUse& use : graph.states) {
    sum += static_cast<double>(use.state.type.elements().value()) * 8;
  }
  return sum < kMostBytes;
}

/// The traced graph at the document's sizes, as any graph is reported; layout casts are not copies
/// to avoid, and what nothing reads has findings of its own, in the log's names.
void add_traced_graph(Page& page, const ir::Graph& graph) {
  add_graph(page, graph);
  Page found;
  add_findings(found, graph);
  for (Finding& finding : found.findings) {
    const bool known = finding.what.find("read by no node") != std::string::npos ||
                       finding.what.find("never read") != std::string::npos ||
                       finding.what.find("that need not be") != std::string::npos;
    if (!known) page.findings.push_back(std::move(finding));
  }
}

OneflowFacts facts_of(const Record& record) {
  OneflowFacts f{record, {}, hidden_inputs(record), {}, {}};
  try {
    f.order = execution_order(record, f.hidden);
  } catch (const UserError&) {
    f.hidden.clear();
    f.order = execution_order(record, {});
  }
  f.products = products_of(record, f.order);
  f.changes = reboxings(f.order);
  double all = 0;
  for (const Product& p : f.products) all += static_cast<double>(p.operations);
  if (all < kMostBytes) f.step_operations = static_cast<std::int64_t>(all);
  return f;
}

/// The device that most operators run on.
std::string main_device(const std::vector<const Operator*>& order) {
  std::map<std::string, int> counts;
  for (const Operator* op : order) ++counts[op->placement.device];
  std::string most;
  for (const auto& [device, n] : counts) {
    if (most.empty() || n > counts[most]) most = device;
  }
  return most;
}

}  // namespace

Page of_oneflow(const Record& record, const io::Import& import) {
  Page page;
  const std::string name = record.graph.empty() && record.tree ? record.tree->name : record.graph;
  page.title = str("OneFlow log ", record.file.text, ": graph ", name);
  OneflowFacts f = facts_of(record);
  const OneflowPlan plan = plan_of(record, f.order, f.hidden, main_device(f.order));
  f.state_bytes = plan.state_bytes;
  add_config(page, record);
  add_trace(page, record);
  add_tree(page, f);
  add_layouts(page, f);
  add_passes(page, record);
  add_printed_memory(page, f);
  add_lifetimes(page, f, plan);
  add_training(page, record);
  if (!record.ops.empty()) {
    const ir::Graph traced = ir::substitute(import.package.graphs[0], import.bindings());
    if (adds_up(traced)) {
      f.step_operations = measure(traced).operations;
      find_in_oneflow(page, f);
      add_traced_graph(page, traced);
      return page;
    }
  }
  find_in_oneflow(page, f);
  return page;
}

}  // namespace plait::report
