// The pipeline: its table, and running it.
#include "passes/pipeline.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "ops/verify.h"
#include "passes/amp.h"
#include "passes/cse.h"
#include "passes/dead.h"
#include "passes/differentiate.h"
#include "passes/expand.h"
#include "passes/fold.h"
#include "passes/simplify.h"
#include "passes/slice.h"

namespace plait {
namespace {

ir::Graph run_verify(const ir::Graph& graph, const PipelineOptions&, DecisionLog&) {
  verify_types(graph);
  return graph;
}

ir::Graph run_differentiate(const ir::Graph& graph, const PipelineOptions&, DecisionLog&) {
  return differentiate(graph);
}

template <DType kHalf>
ir::Graph run_amp(const ir::Graph& graph, const PipelineOptions&, DecisionLog& log) {
  return amp(graph, kHalf, log);
}

ir::Graph run_expand(const ir::Graph& graph, const PipelineOptions& options, DecisionLog& log) {
  return expand(graph, log, options.keep);
}

ir::Graph run_slice(const ir::Graph& graph, const PipelineOptions& options, DecisionLog& log) {
  return options.slice_bytes > 0 ? slice(graph, options.slice_bytes, log) : graph;
}

// clang-format off
constexpr Pass kPipeline[] = {
    {"verify", run_verify, "rejects a malformed graph before anything touches it"},
    {"differentiate", run_differentiate, "first: gradients are simplified like all else", true},
    {"amp", run_amp<DType::bf16>, "after it: forward and backward are coloured together", true},
    {"amp_f16", run_amp<DType::f16>, "the same in f16, which wants a scaled loss", true},
    {"expand", run_expand, "before the rules: they see what composites are made of", true},
    {"fold", plain<fold_constants>, "before simplify: a folded constant lets its rules fire"},
    {"simplify", plain<simplify>, "before cse: one form for what was written in several"},
    {"cse", plain<merge_common>, "before dead: what it merges leaves operands unread"},
    {"dead", plain<remove_dead>, "once for what all the others left behind"},
    {"slice", run_slice, "last: what is dead reads nothing, and copies are not merged again"},
};
// clang-format on

void want_pass(std::string_view name) {
  const std::vector<std::string> known = pass_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  fail("there is no pass '", name, "'.", suggestion(name, known), " The passes are ",
       join(known, ", "));
}

bool is_asked(const Pass& pass, const PipelineOptions& options) {
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), pass.name) != names.end();
  };
  if (has(options.requested)) return true;
  if (!options.only.empty()) return has(options.only);
  return !pass.on_request || pass.name == options.stop_after;
}

ir::Graph run_timed(const Pass& pass, const ir::Graph& graph, const PipelineOptions& options,
                    DecisionLog& log, PassTiming& timing) {
  const auto start = std::chrono::steady_clock::now();
  ir::Graph result = pass.run(graph, options, log);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  timing = {std::string(pass.name), taken.count(), graph.nodes.size(), result.nodes.size()};
  return result;
}

/// What a pass hands on is well-formed, or the pass is wrong, not the user's graph.
void verify_after(const Pass& pass, const ir::Graph& graph) {
  if (pass.run == run_verify) return;  // it changes nothing
  try {
    verify_types(graph);
  } catch (const UserError& e) {
    throw Bug(str("pass ", pass.name, " broke graph ", graph.name, ": ", e.what()));
  }
}

}  // namespace

std::span<const Pass> pipeline() { return kPipeline; }

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : kPipeline) names.emplace_back(pass.name);
  return names;
}

PipelineResult run_pipeline(const ir::Graph& graph, const PipelineOptions& options) {
  for (const std::string& name : options.requested) want_pass(name);
  for (const std::string& name : options.only) want_pass(name);
  if (!options.stop_after.empty()) want_pass(options.stop_after);
  PipelineResult result{graph, {}, {}};
  for (const Pass& pass : kPipeline) {
    if (is_asked(pass, options)) {
      result.graph =
          run_timed(pass, result.graph, options, result.log, result.timings.emplace_back());
      verify_after(pass, result.graph);
      if (options.after_each) options.after_each(pass, result.graph);
    }
    if (pass.name == options.stop_after) break;
  }
  return result;
}

}  // namespace plait
