// Choosing the writer, and running a graph for the times that a format wants.
#include "cli/written.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

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

/// Passes everything on to another backend and notes when each node ran.
class Timed : public Backend {
 public:
  Timed(std::unique_ptr<Backend> inner, const ir::Graph& graph, io::RunTimes& times)
      : inner_(std::move(inner)), times_(times) {
    times_.nodes.resize(graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      nodes_[describe(graph, graph.nodes[i])] = i;
    }
  }
  std::string_view name() const override { return inner_->name(); }
  Decision supports(const Op& op) const override { return inner_->supports(op); }
  std::vector<Array> execute(const NodeView& node,
                             const std::vector<const Array*>& inputs) override {
    const Clock::time_point start = Clock::now();
    std::vector<Array> results = inner_->execute(node, inputs);
    const Clock::time_point end = Clock::now();
    const auto seconds = [&](Clock::time_point t) {
      return std::chrono::duration<double>(t - start_).count();
    };
    times_.nodes[nodes_.at(node.where)] = {seconds(start), seconds(end)};
    return results;
  }

 private:
  std::unique_ptr<Backend> inner_;
  io::RunTimes& times_;
  std::unordered_map<std::string, std::size_t> nodes_;  // by description, which names a value
  Clock::time_point start_ = Clock::now();
};

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
  io::RunTimes times;
  Session session({{graph}}, std::make_unique<Timed>(make_backend("ref"), graph, times));
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
