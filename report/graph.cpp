// Facts and findings of a graph by itself.
#include "report/graph.h"

#include <algorithm>

#include "base/error.h"
#include "ops/contraction.h"
#include "ops/shape.h"
#include "ops/table.h"
#include "passes/measure.h"
#include "report/memory.h"

namespace plait::report {
namespace {

void add_work(Page& page, const Measures& measures) {
  Section& s = page.section("Work by op");
  s.table = {{"op", "nodes", "operations", "bytes"}, {false, true, true, true}, {}};
  std::vector<std::pair<std::string, OpMeasures>> rows(measures.by_op.begin(),
                                                       measures.by_op.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.operations > b.second.operations;
  });
  for (const auto& [op, m] : rows) {
    s.table.rows.push_back(
        {op, with_commas(m.count), with_commas(m.operations), bytes_text(m.bytes)});
  }
}

void find_unread(Page& page, const ir::Graph& graph) {
  const std::vector<int> uses = use_counts(graph);
  Finding dead{"",
               "Nothing needs them; a backward that is asked for fewer gradients, or the pass "
               "`dead`, saves the work.",
               {}};
  std::int64_t bytes = 0;
  const auto is_read = [&](ir::ValueId out) { return uses[static_cast<std::size_t>(out)] > 0; };
  for (const ir::Node& node : graph.nodes) {
    // A result beside others that are read costs next to nothing.
    if (std::any_of(node.outputs.begin(), node.outputs.end(), is_read)) continue;
    for (ir::ValueId out : node.outputs) {
      dead.nodes.push_back(graph.value(out).name);
      bytes += graph.type(out).bytes().value();
    }
  }
  if (!dead.nodes.empty()) {
    dead.what = str(dead.nodes.size(), dead.nodes.size() == 1 ? " value is" : " values are",
                    " computed and never read: ", bytes_text(bytes), ".");
    page.findings.push_back(std::move(dead));
  }
  Finding unused{"", "They take memory and, in training, updates; is something not connected?", {}};
  for (const ir::StateUse& use : graph.states) {
    if (uses[static_cast<std::size_t>(use.value)] == 0) unused.nodes.push_back(use.state.name);
  }
  if (unused.nodes.empty()) return;
  unused.what = str(unused.nodes.size(), unused.nodes.size() == 1 ? " state is" : " states are",
                    " read by no node.");
  page.findings.push_back(std::move(unused));
}

void find_copies(Page& page, const ir::Graph& graph) {
  Finding copies{"", "Nothing writes in place here, so the reader can take the original.", {}};
  std::int64_t bytes = 0;
  for (const ir::Node& node : graph.nodes) {
    if (node.opaque || find_op(node.op) != &ops::copy) continue;
    copies.nodes.push_back(graph.value(node.outputs[0]).name);
    bytes += graph.type(node.outputs[0]).bytes().value();
  }
  if (copies.nodes.empty()) return;
  copies.what = str(copies.nodes.size(), copies.nodes.size() == 1 ? " copy" : " copies",
                    " that need not be: ", bytes_text(bytes), " written again.");
  page.findings.push_back(std::move(copies));
}

/// An elementwise node whose operand is made by a contraction and read by it alone.
void find_epilogues(Page& page, const ir::Graph& graph) {
  const std::vector<int> uses = use_counts(graph);
  std::vector<bool> rides(graph.values.size(), false);  // made by a contraction or its epilogue
  Finding found{"", "", {}};
  std::int64_t saved = 0, all = 0;
  for (const ir::Node& node : graph.nodes) {
    all += bytes_of(graph, node).value();
    bool fits = is_contraction(node);
    const Op* op = node.opaque ? nullptr : find_op(node.op);
    if (op && (op->traits & kElementwise)) {
      for (ir::ValueId in : node.inputs) {
        if (in == ir::kNone || !rides[static_cast<std::size_t>(in)]) continue;
        if (uses[static_cast<std::size_t>(in)] != 1) continue;
        if (!(graph.type(in).shape == graph.type(node.outputs[0]).shape)) continue;
        fits = true;
        saved += 2 * graph.type(in).bytes().value();
        found.nodes.push_back(graph.value(node.outputs[0]).name);
        break;
      }
    }
    for (ir::ValueId out : node.outputs) rides[static_cast<std::size_t>(out)] = fits;
  }
  if (found.nodes.empty()) return;
  found.what = str(found.nodes.size(), " elementwise ",
                   found.nodes.size() == 1 ? "node follows" : "nodes follow",
                   " a contraction and could be its epilogue: ", bytes_text(saved),
                   " less to write and read again, ",
                   percent_text(static_cast<double>(saved), static_cast<double>(all)),
                   " of all bytes moved.");
  page.findings.push_back(std::move(found));
}

}  // namespace

void add_graph(Page& page, const ir::Graph& graph) {
  const Measures measures = measure(graph);
  const MemoryFigures memory = memory_figures(buffers_of(graph));
  std::int64_t state_bytes = 0;
  for (const ir::StateUse& use : graph.states) state_bytes += use.state.type.bytes().value();
  Section& s = page.section(str("Graph ", graph.name, " as Plait holds it"));
  s.facts = {
      count("nodes", static_cast<std::int64_t>(graph.nodes.size())),
      count("states", static_cast<std::int64_t>(graph.states.size())),
      count("parameters", measures.parameters),
      count("operations", measures.operations),
      bytes("bytes moved", measures.bytes),
      bytes("state bytes", state_bytes),
      bytes("keep all", memory.keep_all_bytes, "every value in a buffer of its own"),
      bytes("live peak", memory.peak_bytes, "by lifetime, in this order: no plan can be below"),
      bytes("shared", memory.shared_bytes, "one arena, greedy offsets"),
  };
  add_work(page, measures);
}

void add_findings(Page& page, const ir::Graph& graph) {
  find_unread(page, graph);
  find_copies(page, graph);
  find_epilogues(page, graph);
}

Page of_graph(const ir::Graph& graph) {
  Page page{"Graph " + graph.name, {}, {}};
  add_graph(page, graph);
  add_findings(page, graph);
  return page;
}

}  // namespace plait::report
