// Passes, plan, cache.
#include "run/compile.h"

#include <chrono>

#include "passes/pipeline.h"

namespace plait {

Compiled compile(const ir::Graph& graph, const Target& target, const CompileRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  const auto since = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Compiled out;
  PipelineResult passed = run_pipeline(graph, {.requested = {"expand"}, .stop_after = {}, .after_each = {}});
  out.passes_seconds = since();
  out.program = plan::make_program(passed.graph, target, request.plan);
  out.program.log.insert(out.program.log.begin(), passed.log.begin(), passed.log.end());
  out.seconds = since();
  return out;
}

}  // namespace plait
