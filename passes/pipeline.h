// The map of the compiler: every pass in order, with why it stands there. Passes say what is
// computed; how is decided in plan/.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "ir/graph.h"
#include "ops/op.h"

namespace plait {

/// Whether a target runs a composite as it stands; an empty reason: it has nothing of the kind.
using Keep = std::function<Decision(const NodeView&)>;

struct PipelineOptions;

struct Pass {
  std::string_view name;
  ir::Graph (*run)(const ir::Graph& graph, const PipelineOptions& options, DecisionLog& log);
  std::string_view why;
  bool on_request = false;  // runs only when asked for
};

/// A pass that has no options.
template <ir::Graph (*kRun)(const ir::Graph&, DecisionLog&)>
ir::Graph plain(const ir::Graph& graph, const PipelineOptions&, DecisionLog& log) {
  return kRun(graph, log);
}

std::span<const Pass> pipeline();
std::vector<std::string> pass_names();

struct PassTiming {
  std::string pass;
  double seconds = 0;
  std::size_t nodes_before = 0, nodes_after = 0;
};

struct PipelineOptions {
  std::vector<std::string> requested{};                             // that run only on request
  std::string stop_after{};                                         // empty: run all
  std::function<void(const Pass&, const ir::Graph&)> after_each{};  // dumps
  Keep keep{};                                                      // composites; none when empty
  std::vector<std::string> only{};  // besides those requested; empty: all
  std::int64_t slice_bytes = 0;     // 0: nothing is sliced
};

struct PipelineResult {
  ir::Graph graph;
  DecisionLog log;
  std::vector<PassTiming> timings;
};

/// UserError with the nearest name when a pass named in the options does not exist.
PipelineResult run_pipeline(const ir::Graph& graph, const PipelineOptions& options = {});

}  // namespace plait
