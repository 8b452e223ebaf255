// Graph to record: the graph in its plainest form, then node by node.
#include "base/error.h"
#include "io/aicf/format.h"
#include "io/aicf/graph_writer.h"
#include "passes/cse.h"
#include "passes/dead.h"
#include "passes/fold.h"
#include "passes/simplify.h"

namespace plait::io::aicf {

Record from_graph(const ir::Graph& graph) {
  for (const auto& [name, symbol] : symbols_of(graph)) {
    fail("aicf: graph ", graph.name, " has the size ", name,
         ", and the format holds numbers. Set it: --set ", name, "=N");
  }
  DecisionLog log;
  const ir::Graph folded = remove_dead(merge_common(fold_constants(graph, log), log), log);
  try {
    return GraphWriter(folded).record();
  } catch (const UserError&) {
    // The same written in another way may have words.
    const ir::Graph plain = remove_dead(merge_common(simplify(folded, log), log), log);
    try {
      return GraphWriter(plain).record();
    } catch (const UserError&) {
    }
    throw;
  }
}

}  // namespace plait::io::aicf
