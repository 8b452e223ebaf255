// Facts of the document: what it holds, how AICF binds and launches it, what memory it takes.
#include "report/aicf.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "ops/table.h"
#include "report/aicf_step.h"
#include "report/graph.h"
#include "report/memory.h"

namespace plait::report {
namespace {

using io::aicf::Cell;
using io::aicf::CellRole;
using io::aicf::Version;

/// `4: 0.W, 0.b, 2.W, 2.b; 288 B`
struct Group {
  std::vector<std::string> names;
  std::int64_t bytes = 0;
};

Fact group_fact(std::string name, const Group& group) {
  constexpr std::size_t kShown = 8;
  const std::size_t shown = std::min(group.names.size(), kShown);
  std::string text = with_commas(static_cast<std::int64_t>(group.names.size()));
  if (shown > 0) {
    text +=
        ": " +
        join({group.names.begin(), group.names.begin() + static_cast<std::ptrdiff_t>(shown)}, ", ");
  }
  if (shown < group.names.size()) text += ", ...";
  return {std::move(name), text + "; " + bytes_text(group.bytes),
          static_cast<double>(group.names.size())};
}

template <class Get>
std::string distinct(const io::aicf::Record& record, Get get) {
  std::set<std::string> found;
  for (const io::aicf::Value& v : record.values) found.insert(get(v));
  return join({found.begin(), found.end()}, ", ");
}

void add_document(Page& page, const AicfStep& step, const io::Import& import) {
  const io::aicf::Record& record = step.record;
  Section& s = page.section("Document");
  s.facts = {
      count("values", static_cast<std::int64_t>(record.values.size())),
      count("nodes", static_cast<std::int64_t>(record.nodes.size())),
      words("dtypes",
            distinct(record, [](const auto& v) { return io::aicf::torch_name(v.dtype); })),
      words("devices", distinct(record, [](const auto& v) { return v.device; })),
  };
  for (const auto& [name, value] : import.sizes) s.facts.push_back(count(name, value));
  for (const std::string& note : import.notes) s.facts.push_back(words("note", note));
}

void add_binding(Page& page, const AicfStep& step) {
  Group inputs, params, statics, states;
  for (std::size_t c = 0; c < step.uses.size(); ++c) {
    const auto cell = static_cast<Cell>(c);
    const CellRole role = step.uses[c].role;
    Group& group = role == CellRole::kInput ? inputs : role == CellRole::kParam ? params : statics;
    const auto put = [&](Group& g) {
      g.names.push_back(step.record.value(cell).name);
      g.bytes += step.bytes_of(cell);
    };
    put(group);
    if (role == CellRole::kMoment || role == CellRole::kCounter) put(states);
  }
  Section& s =
      page.section("Binding plan: every pointer fixed, so that a captured step can be replayed");
  s.facts = {group_fact("inputs", inputs), group_fact("parameters", params),
             group_fact("statics", statics)};
  if (!states.names.empty()) s.facts.push_back(group_fact("of them optimizer states", states));
  s.facts.push_back(bytes("bound in all", inputs.bytes + params.bytes + statics.bytes));
}

void add_ops(Page& page, const AicfStep& step) {
  struct Row {
    std::int64_t nodes = 0, kernels = 0, operations = 0, bytes = 0;
  };
  std::map<std::string, Row> rows;
  for (const io::aicf::Node& node : step.record.nodes) {
    Row& row = rows[node.op];
    row.nodes += 1;
    for (Cell c : node.inputs) row.bytes += step.bytes_of(c);
    for (Cell c : node.outputs) row.bytes += step.bytes_of(c);
  }
  for (const AicfKernel& k : aicf_kernels(step, false)) {
    rows[step.record.node(k.node).op].kernels += 1;
  }
  for (const ir::Node& node : step.graph.nodes) {
    rows[step.record.node(step.index_of(node)).op].operations +=
        operations_of(step.graph, node).value();
  }
  Section& s =
      page.section("Ops of the document; operations as Plait counts them, the document has none");
  s.table = {
      {"op", "nodes", "kernels", "operations", "bytes"}, {false, true, true, true, true}, {}};
  for (const auto& [op, row] : rows) {
    s.table.rows.push_back({op, with_commas(row.nodes), with_commas(row.kernels),
                            with_commas(row.operations), bytes_text(row.bytes)});
  }
}

void add_lowering(Page& page, const AicfStep& step) {
  const std::vector<AicfKernel> plain = aicf_kernels(step, false), fused = aicf_kernels(step, true);
  const std::int64_t fewest = fewest_kernels(step.graph);
  Section& s = page.section("Lowering to kernels");
  s.facts = {
      count("nodes", static_cast<std::int64_t>(step.record.nodes.size())),
      count("kernels", static_cast<std::int64_t>(plain.size())),
      count("after fusing gemm, bias and relu", static_cast<std::int64_t>(fused.size())),
      {"fewest",
       with_commas(fewest) + ": without dead work and copies, pointwise work in the kernel "
                             "that makes its operand",
       static_cast<double>(fewest)},
  };
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> rows;
  for (const AicfKernel& k : plain) rows[k.kind].first += 1;
  for (const AicfKernel& k : fused) rows[k.kind].second += 1;
  s.table = {{"kernel", "launches", "fused"}, {false, true, true}, {}};
  for (const auto& [kind, n] : rows) {
    s.table.rows.push_back({kind, with_commas(n.first), with_commas(n.second)});
  }
}

/// Statics that are not states: their contents live from the write to the last read.
void add_memory(Page& page, const AicfStep& step) {
  std::int64_t printed = 0;
  std::vector<Buffer> buffers;
  for (std::size_t c = 0; c < step.uses.size(); ++c) {
    if (step.uses[c].role == CellRole::kStatic) printed += step.bytes_of(static_cast<Cell>(c));
  }
  for (const Version& v : step.versions) {
    const bool made = step.uses[static_cast<std::size_t>(v.cell)].role == CellRole::kStatic;
    if (!made) continue;
    const std::int64_t last = v.readers.empty() ? v.writer : v.readers.back();
    buffers.push_back({step.record.value(v.cell).name, step.bytes_of(v.cell), v.writer, last});
  }
  const MemoryFigures figures = memory_figures(buffers);
  Section& s = page.section("Memory of what the step makes");
  s.facts = {
      bytes("as printed", printed, "every value in a cell of its own"),
      bytes("lower bound by lifetime", figures.peak_bytes,
            figures.at_peak.empty()
                ? ""
                : "at " + step.node_text(static_cast<std::size_t>(figures.peak_step))),
      bytes("shared", figures.shared_bytes, "one arena, greedy offsets"),
  };
}

}  // namespace

Page of_aicf(const io::aicf::Record& record, const io::Import& import) {
  const AicfStep step(record);
  Page page{"AICF graph " + record.name, {}, {}};
  add_document(page, step, import);
  add_binding(page, step);
  add_ops(page, step);
  add_lowering(page, step);
  add_memory(page, step);
  add_graph(page, step.graph);
  add_aicf_findings(page, step);
  return page;
}

}  // namespace plait::report
