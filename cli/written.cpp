// Choosing the writer, and running a graph for the times that a format wants.
#include "cli/written.h"

#include <algorithm>
#include <chrono>

#include "backends/backends.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/dot.h"
#include "cli/source.h"
#include "ir/text.h"
#include "run/session.h"

namespace plait::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// One run on the reference backend with random feeds; values that nothing reads are fetched too,
/// so that every node runs.
io::RunTimes times_of(const ir::Graph& graph) {
  require_numbers(graph);
  RunRequest request{graph.name, {}, {}};
  for (ir::ValueId id : graph.feeds) {
    request.feeds.emplace(graph.value(id).name, random_feed(graph, id, 0));
  }
  const std::vector<int> uses = use_counts(graph);
  for (const ir::Fetch& f : graph.fetches) request.fetches.push_back(f.name);
  for (const ir::Node& node : graph.nodes) {
    for (ir::ValueId out : node.outputs) {
      if (uses[static_cast<std::size_t>(out)] == 0) {
        request.fetches.push_back(graph.value(out).name);
      }
    }
  }
  Session session({{graph}}, make_target("ref"));
  session.prepare(request);
  const Clock::time_point start = Clock::now();
  double before = 0;
  io::RunTimes times{std::vector<io::NodeTime>(graph.nodes.size())};
  session.on_step([&](const program::Program&, const program::Step& step) {
    const double now = std::chrono::duration<double>(Clock::now() - start).count();
    const ir::ValueId value = graph.find_value(step.name);
    const ir::NodeId node = value == ir::kNone ? ir::kNone : graph.value(value).producer;
    if (node != ir::kNone) times.nodes.at(static_cast<std::size_t>(node)) = {before, now};
    before = now;
  });
  static_cast<void>(session.run(request));
  return times;
}

}  // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> names{"plait"};
  for (const io::Format& f : io::formats()) names.emplace_back(f.name);
  names.emplace_back("dot");
  return names;
}

void check_format(std::string_view flag, const std::string& format) {
  const std::vector<std::string> known = format_names();
  if (std::find(known.begin(), known.end(), format) != known.end()) return;
  throw UsageError(
      str(flag, " knows ", join(known, ", "), ", not '", format, "'.", suggestion(format, known)));
}

std::string text_as_read(const io::Document& document) {
  const io::Format* format = io::find_format(document.format);
  return format ? format->write(document.record) : ir::print(document.import.package);
}

std::string text_of(const ir::Package& package, const std::string& format) {
  if (format == "plait") return ir::print(package);
  if (format == "dot") {
    std::string out;
    for (const ir::Graph& graph : package.graphs) out += dot_text(graph);
    return out;
  }
  const io::Format* writer = io::find_format(format);
  check(writer != nullptr, "no writer of ", format);
  const ir::Graph& graph = package.graphs.at(0);
  return writer->write(
      writer->from_graph(graph, writer->wants_times ? times_of(graph) : io::RunTimes()));
}

}  // namespace plait::cli
