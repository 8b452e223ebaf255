// Graph to program, and what a program is known by.
#include "plan/program.h"


#include "base/hash.h"
#include "base/text.h"
#include "ir/text.h"
#include "plan/stages.h"

namespace plait::plan {
std::string Options::text() const {
  return str("fuse=", fuse, " measure=", measure, " reorder=", reorder);
}

DimBindings largest(const std::map<std::string, Dim>& symbols) {
  DimBindings out;
  for (const auto& [name, symbol] : symbols) out.emplace(name, Dim(symbol.hi()));
  return out;
}

Program make_program(const ir::Graph& graph, const Target& target, const Options& options,
                     const TuningResults& tuned) {
  Planning planning(graph, target, options, tuned);
  planning.program.graph_text = ir::print(graph);
  run_stages(planning);
  return std::move(planning.program);
}

std::uint64_t program_hash(const ir::Graph& graph, const Target& target, const Options& options) {
  std::uint64_t hash = fnv1a64(ir::print(graph));
  hash = fnv1a64(target.identity(), hash);
  return fnv1a64(str(" threads=", target.threads(), " ", options.text()), hash);
}

}  // namespace plait::plan
