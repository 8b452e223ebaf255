// plait check FILE
#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/source.h"

namespace plait::cli {
namespace {

constexpr Flag kCheckFlags[] = {kSetFlag};

void run_check(const Args& args) {
  const ir::Package package = load_checked(args);
  static_cast<void>(state_table(package));  // UserError when graphs disagree on a state
  std::string out;
  for (const ir::Graph& graph : package.graphs) {
    const auto opaque = static_cast<std::size_t>(std::count_if(
        graph.nodes.begin(), graph.nodes.end(), [](const ir::Node& n) { return n.opaque; }));
    out += str("ok: graph ", graph.name, ", ", counted(graph.nodes.size(), "node", "nodes"), ", ",
               counted(graph.feeds.size(), "feed", "feeds"), ", ",
               counted(graph.states.size(), "state", "states"), ", ",
               counted(graph.fetches.size(), "fetch", "fetches"));
    if (opaque > 0) out += str(", ", opaque, " opaque");
    out += "\n";
  }
  print(out);
}

}  // namespace

constinit const Command kCheck{.name = "check",
                               .usage = "FILE [options]",
                               .doc = "verifies structure and types of every graph in FILE",
                               .least_words = 1,
                               .most_words = 1,
                               .flags = kCheckFlags,
                               .details = kFileHelp,
                               .example =
                                   "  $ plait check model:mlp\n"
                                   "  ok: graph mlp, 3 nodes, 1 feed, 4 states, 1 fetch\n",
                               .run = run_check};

}  // namespace plait::cli
