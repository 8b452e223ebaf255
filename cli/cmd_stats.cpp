// plait stats FILE: what a graph costs.
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "passes/measure.h"

namespace plait::cli {
namespace {

constexpr Flag kStatsFlags[] = {kGraphFlag, kSetFlag, kJsonFlag};

Json stats_json(const Measures& m) {
  Json by_op = Json::object();
  for (const auto& [name, op] : m.by_op) {
    by_op[name] = {{"count", op.count}, {"operations", op.operations}, {"bytes", op.bytes}};
  }
  return {{"parameters", m.parameters},
          {"operations", m.operations},
          {"bytes", m.bytes},
          {"live_peak_bytes", m.live_peak_bytes},
          {"by_op", by_op}};
}

std::string stats_text(const ir::Graph& graph, const Measures& m) {
  Table totals{{},
               {},
               {{"graph", graph.name},
                {"parameters", with_commas(m.parameters)},
                {"operations", with_commas(m.operations)},
                {"bytes", bytes_text(m.bytes)},
                {"live peak", bytes_text(m.live_peak_bytes)}}};
  std::vector<std::pair<std::string, OpMeasures>> rows(m.by_op.begin(), m.by_op.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.operations, a.second.bytes) >
           std::pair(b.second.operations, b.second.bytes);
  });
  Table table{{"op", "count", "operations", "bytes"}, {false, true, true, true}, {}};
  for (const auto& [name, op] : rows) {
    table.rows.push_back(
        {name, with_commas(op.count), with_commas(op.operations), bytes_text(op.bytes)});
  }
  return totals.text() + (rows.empty() ? "" : "\n" + table.text());
}

void run_stats(const Args& args) {
  const ir::Package package = load_checked(args);
  const ir::Graph& graph = chosen_graph(package, args);
  require_numbers(graph);
  const Measures measures = measure(graph);
  if (args.has("--json")) return print_json(stats_json(measures));
  print(stats_text(graph, measures));
}

}  // namespace

constinit const Command kStats{
    .name = "stats",
    .usage = "FILE [options]",
    .doc = "counts parameters, operations, bytes moved and live memory, by op",
    .least_words = 1,
    .most_words = 1,
    .flags = kStatsFlags,
    .details =
        "parameters  elements of trained states\n"
        "operations  a contraction counts 2 per multiply-add; views, casts and gathers 0\n"
        "bytes       inputs read and outputs written, each once per node\n"
        "live peak   values alive at once in the order of the nodes, nothing in place; feeds,\n"
        "            states and constants apart\n"
        "Sizes must be numbers: --set fixes symbols.\n",
    .example =
        "  $ plait stats model:mlp\n"
        "  graph       mlp\n"
        "  parameters  144\n"
        "  operations  16,896\n"
        "  bytes       6,432 (6.4 kB)\n"
        "  live peak   2,048 (2.0 kB)\n"
        "\n"
        "  op      count  operations           bytes\n"
        "  linear      2      16,384  4,384 (4.4 kB)\n"
        "  relu        1         512  2,048 (2.0 kB)\n",
    .run = run_stats};

}  // namespace plait::cli
