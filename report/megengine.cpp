// The page of a MegEngine profile: counts, work, time, memory, then what is wrong with it.
#include "report/megengine.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/error.h"
#include "io/megengine/format.h"
#include "ops/table.h"
#include "passes/measure.h"
#include "report/graph.h"
#include "report/megengine_facts.h"

namespace plait::report {

using namespace io::megengine;

namespace {

std::string fixed(double x, const char* format) {
  char text[64];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

std::int64_t length(const auto& list) { return static_cast<std::int64_t>(list.size()); }

void add_counts(Page& page, const Index& index) {
  const Record& record = index.record;
  Section& s = page.section("What it holds");
  s.facts = {count("operators", length(record.ops)), count("vars", length(record.vars)),
             count("in the sequence", length(record.comp_seq)),
             count("memory chunks", length(record.chunks))};
  std::vector<std::string> host;
  for (std::size_t i = 0; i < record.ops.size(); ++i) {
    if (index.step[i] < 0) host.push_back(operator_name(record.ops[i]));
  }
  const std::size_t shown = std::min<std::size_t>(host.size(), 8);
  s.facts.push_back(
      words("on the host alone",
            str(host.size(), host.empty() ? "" : ": ",
                join({host.begin(), host.begin() + static_cast<std::ptrdiff_t>(shown)}, ", "),
                shown < host.size() ? "..." : "")));
  std::set<std::string> nodes;
  for (const Var& var : record.vars) nodes.insert(var.comp_node);
  s.facts.push_back(words("devices", join({nodes.begin(), nodes.end()}, ", ")));
}

void add_work(Page& page, const Index& index, const ir::Graph& graph) {
  Section& s = page.section("Operations: as recorded, and by our rules of counting");
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> rows;
  std::int64_t recorded = 0, bytes_moved = 0;
  for (const auto& [type, sums] : sums_by_type(index)) {
    rows[type].first += sums.operations;
    recorded += sums.operations;
    bytes_moved += sums.bytes;
  }
  const Measures ours = measure(graph);
  const Trace trace = traced(index.record);
  for (std::size_t i = 0; i < trace.graph.nodes.size(); ++i) {
    rows[index.op(trace.op_of[i]).type].second +=
        operations_of(trace.graph, trace.graph.nodes[i]).value();
  }
  s.facts = {count("recorded operations", recorded), count("our operations", ours.operations),
             bytes("recorded bytes", bytes_moved, "read and written"),
             bytes("our bytes", ours.bytes), count("parameters", ours.parameters)};
  const bool opaque = std::all_of(graph.nodes.begin(), graph.nodes.end(),
                                  [](const ir::Node& n) { return n.opaque; });
  if (opaque && recorded > 0) {  // kernels of a compiled program: only the record knows their work
    s.facts[1] = words("our operations", "its operators are kernels, counted when they were made");
    s.table = {{"type", "recorded"}, {false, true}, {}};
    for (const auto& [type, row] : rows) {
      if (row.first != 0) s.table.rows.push_back({type, with_commas(row.first)});
    }
    return;
  }
  if (!index.record.profiler || !index.record.profiler->footprints) {
    s.facts[0] = words("recorded operations", "no footprints in this document");
    s.facts[2] = words("recorded bytes", "no footprints in this document");
  } else if (recorded != ours.operations) {
    s.facts.push_back(
        words("why they differ",
              "an Elemwise counts once an element and further operand there, however "
              "much its mode fuses; here every scalar operation counts, composites by "
              "what they are made of"));
  }
  s.table = {{"type", "recorded", "ours", "difference"}, {false, true, true, true}, {}};
  for (const auto& [type, row] : rows) {
    if (row.first == 0 && row.second == 0) continue;
    s.table.rows.push_back({type, with_commas(row.first), with_commas(row.second),
                            with_commas(row.second - row.first)});
  }
}

void add_type_rows(Section& s, const Index& index, double summed) {
  const auto sums = sums_by_type(index);
  std::vector<std::pair<std::string, TypeSums>> rows(sums.begin(), sums.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.seconds != b.second.seconds ? a.second.seconds > b.second.seconds
                                                : a.second.count > b.second.count;
  });
  s.table = {{"type", "launched", "ms", "share", "GFLOP/s", "GB/s"},
             {false, true, true, true, true, true},
             {}};
  for (const auto& row : rows) {
    const std::string& type = row.first;
    const TypeSums& t = row.second;
    const auto rate = [&](std::int64_t n) {
      if (!(t.seconds > 0) || n == 0) return std::string("-");
      return fixed(static_cast<double>(n) / t.seconds / 1e9, "%.1f");
    };
    s.table.rows.push_back({type, with_commas(t.count),
                            summed > 0 ? fixed(t.seconds * 1e3, "%.2f") : "-",
                            percent_text(t.seconds, summed), rate(t.operations), rate(t.bytes)});
  }
}

void add_host_facts(Section& s, const Index& index) {
  double real = 0, constants = 0;
  std::int64_t real_ops = 0;
  for (std::size_t i = 0; i < index.record.ops.size(); ++i) {
    if (!index.host[i]) continue;
    const bool constant = is_constant(index.record.ops[i]);
    (constant ? constants : real) += host_seconds(*index.host[i]);
    real_ops += constant ? 0 : 1;
  }
  s.facts.push_back(milliseconds("host dispatch", real + constants,
                                 str("of it ", fixed(constants * 1e3, "%.2f"), " for constants")));
  if (real_ops == 0) return;
  const double us = real / static_cast<double>(real_ops) * 1e6;
  s.facts.push_back({"host per operator",
                     str(fixed(us, "%.1f"), " us, over the ", real_ops, " that are not constants"),
                     us});
}

void add_device_facts(Section& s, const DeviceTimes& t) {
  const std::string untimed =
      t.untimed == 0 ? "" : str("; ", t.untimed, " operators without times may run in it");
  s.facts = {
      milliseconds("device span", t.span, "from the first start to the last end"),
      milliseconds("kernels busy", t.busy, percent_text(t.busy, t.span) + " of the span"),
      milliseconds("device idle", t.idle, percent_text(t.idle, t.span) + " of the span" + untimed)};
  if (t.summed > t.busy * (1 + 1e-6)) {
    s.facts.push_back(milliseconds("summed over streams", t.summed,
                                   "kernels overlap; the shares below are of this sum"));
  }
  if (t.untimed > 0) {
    s.facts.push_back({"without device times",
                       str(t.untimed, " of ", t.timed + t.untimed, " launched operators"),
                       static_cast<double>(t.untimed)});
  }
}

void add_time(Page& page, const Index& index) {
  const bool host = std::any_of(index.host.begin(), index.host.end(),
                                [](const Timing* t) { return t && !t->by_place.empty(); });
  Section& s = page.section("Time by type of operator");
  const DeviceTimes t = device_times(index);
  if (t.timed > 0) {
    add_device_facts(s, t);
  } else {
    s.facts = {words("device times", "not in this document")};
  }
  if (host) {
    add_host_facts(s, index);
  } else {
    s.facts.push_back(words("host times", "not in this document"));
  }
  add_type_rows(s, index, t.summed);
}

constexpr std::size_t kMostToPack = 20'000;  // packing takes the square of the number

void add_memory(Page& page, const Index& index) {
  const RunMemory run = run_memory(index);
  const bool pack = run.results.size() <= kMostToPack;
  const MemoryFigures results = memory_figures(pack ? run.results : std::vector<Buffer>{});
  std::int64_t scratch = 0, largest = 0;
  for (const Buffer& b : run.scratch) {
    scratch += b.bytes;
    largest = std::max(largest, b.bytes);
  }
  Section& s = page.section("Memory of the run");
  s.facts = {bytes("weights", run.weights)};
  if (pack) {
    s.facts.push_back(bytes("without reuse", results.keep_all_bytes,
                            "every result and the input in a buffer of its own"));
    s.facts.push_back(
        bytes("live peak", results.peak_bytes, "by lifetime, in this order: no plan can be below"));
    s.facts.push_back(bytes("shared", results.shared_bytes, "one arena, greedy offsets"));
    const std::size_t shown = std::min<std::size_t>(results.at_peak.size(), 4);
    s.facts.push_back(words("alive at the peak",
                            join({results.at_peak.begin(),
                                  results.at_peak.begin() + static_cast<std::ptrdiff_t>(shown)},
                                 ", ")));
  }
  s.facts.push_back(bytes("scratch", scratch,
                          str("of ", run.scratch.size(), " operators together; the largest needs ",
                              bytes_text(largest))));
  const Addresses a = addresses_of_results(index);
  if (a.vars > 0) {
    s.facts.push_back(bytes("at the last run", a.distinct,
                            str("of distinct addresses held ", a.vars, " results")));
    s.facts.push_back(bytes("their address span", a.span, "from the lowest to the highest"));
  }
  if (run.unknown > 0) s.facts.push_back(count("results of unknown size", run.unknown));
}

}  // namespace

Page of_megengine(const Record& record, const io::Import& import) {
  const Index index(record);
  const ir::Graph graph = substitute(import.package.graphs[0], import.bindings());
  Page page{str("MegEngine profile ", record.file), {}, {}};
  add_counts(page, index);
  add_work(page, index, graph);
  add_time(page, index);
  add_memory(page, index);
  if (graph.nodes.size() <= kMostToPack) add_graph(page, graph);
  if (!import.notes.empty()) {
    Section& s = page.section("Notes");
    for (const std::string& note : import.notes) s.facts.push_back(words("-", note));
  }
  add_megengine_findings(page, index);
  return page;
}

}  // namespace plait::report
