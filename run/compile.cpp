// Passes, plan, cache.
#include "run/compile.h"

#include <chrono>
#include <iterator>
#include <optional>

#include "base/build_id.h"
#include "base/hash.h"
#include "codegen/cache.h"

namespace plait {
namespace {

constexpr const char* kKind = "plan";  // of the cache's entries

/// What was kept under the key; nothing when it is not there, cannot be read or was planned by
/// other measurements.
std::optional<program::Program> kept_program(std::uint64_t key,
                                             const std::optional<TuningResults>& tuned) {
  const std::optional<std::string> bytes = codegen::cache::load(kKind, key);
  if (!bytes) return std::nullopt;
  try {
    program::Program program = program::from_bytes(*bytes, "the cache");
    if (tuned && program.tuning != *tuned) return std::nullopt;
    return program;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

PipelineOptions passes_for(const Target& target) {
  if (target.is_node_by_node()) return {.only = {"dead"}};
  return {.requested = {"expand"},
          .keep = [&target](const NodeView& node) { return target.keeps(node); }};
}

Compiled compile(const ir::Graph& graph, const Target& target, const CompileRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  const auto since = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Compiled out;
  // A program that is the graph as it is comes faster than its file.
  const bool use_cache = request.use_cache && !target.is_node_by_node() && !build_id().empty();
  const std::string how = target.build() + build_id() + (request.passes ? "" : " expanded");
  const std::uint64_t key =
      use_cache ? fnv1a64(how, plan::program_hash(graph, target, request.plan, request.table)) : 0;
  if (use_cache) {
    if (std::optional<program::Program> kept = kept_program(key, request.tuned)) {
      out.program = std::move(*kept);
      out.from_cache = true;
      out.seconds = since();
      return out;
    }
  }
  PipelineOptions passes = passes_for(target);
  passes.slice_bytes = request.plan.slice_bytes;
  if (!request.passes) passes.stop_after = "expand";
  PipelineResult passed = run_pipeline(graph, passes);
  out.passes_seconds = since();
  out.program = plan::make_program(passed.graph, target, request.plan,
                                   request.tuned.value_or(TuningResults{}), request.table);
  out.program.log.insert(out.program.log.begin(), std::make_move_iterator(passed.log.begin()),
                         std::make_move_iterator(passed.log.end()));
  passed = {};
  if (use_cache) codegen::cache::store(kKind, key, program::to_bytes(out.program));
  out.seconds = since();
  return out;
}

}  // namespace plait
