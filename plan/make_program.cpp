// Graph to program, and what a program is known by.
#include "plan/make_program.h"

#include "base/hash.h"
#include "base/text.h"
#include "ir/text.h"
#include "plan/stages.h"
#include "program/verify.h"

namespace plait::plan {

program::Program make_program(const ir::Graph& graph, const Target& target, const Options& options,
                              const TuningResults& tuned, const program::StateTable& table) {
  Planning planning(graph, target, options, tuned, table);
  run_stages(planning);
  try {
    program::verify(planning.program);
  } catch (const UserError& e) {
    throw Bug(str("the program of ", graph.name, " does not hold together: ", e.what()));
  }
  return std::move(planning.program);
}

std::uint64_t program_hash(const ir::Graph& graph, const Target& target, const Options& options,
                           const program::StateTable& table) {
  std::uint64_t hash = fnv1a64(ir::print(graph));
  hash = fnv1a64(target.identity(), hash);
  hash = fnv1a64(to_text(target.device()), hash);
  return fnv1a64(str(" threads=", target.threads(), " streams=", target.streams(), " fuse=",
                     options.fuse, " measure=", options.measure, " reorder=", options.reorder,
                     " slice=", options.slice_bytes, "\n", program::text(table)),
                 hash);
}

}  // namespace plait::plan
