// plait ops: the op table, one line per op.
#include <map>

#include "backends/backends.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "ops/samples.h"
#include "ops/table.h"

namespace plait::cli {
namespace {

constexpr Flag kOpsFlags[] = {kJsonFlag};
constexpr std::string_view kNoMap = "-", kComposite = "composite";

std::vector<std::string> gradients_of(const Op& op) {
  std::vector<std::string> alternatives;
  for (const GradRule& rule : op.grads) {
    alternatives.emplace_back(rule.saves.empty() ? "nothing" : rule.saves);
  }
  return alternatives;
}

/// The index map of the op's first sample.
std::string map_of(const Op& op) {
  if (op.decompose) return std::string(kComposite);
  if (!has_nest(op) || op.samples.empty()) return std::string(kNoMap);
  const ir::Graph graph = sample_graph(op, samples_of(op).front());
  return loop::map_text(nest_of(view_of(graph, graph.nodes[0])));
}

/// The backends of this machine, each made once.
const std::map<std::string, std::unique_ptr<Target>>& targets_here() {
  static const auto made = [] {
    std::map<std::string, std::unique_ptr<Target>> targets;
    for (const std::string& name : backend_names()) {
      try {
        targets.emplace(name, make_target(name));
      } catch (const UserError&) {
        continue;  // what it needs is not here: plait doctor says what
      } catch (const RunError&) {
        continue;  // it is, and does not start: the same
      }
    }
    return targets;
  }();
  return made;
}

std::vector<std::string> backends_of(const Op& op) {
  std::vector<std::string> names;
  const bool loops = op.decompose || has_nest(op) || op.inputs.empty();
  for (const std::string& name : backend_names()) {
    const auto target = targets_here().find(name);
    if (target == targets_here().end()) continue;
    if (loops || target->second->has_hand(std::string(op.name))) names.push_back(name);
  }
  return names;
}

std::string or_dash(std::string text) { return text.empty() ? "-" : text; }

Json op_json(const Op& op) {
  const auto list = [](const auto& items) {
    Json out = Json::array();
    for (const auto& item : items) out.push_back(item);
    return out;
  };
  return {{"name", op.name},
          {"operands", list(op.inputs)},
          {"outputs", list(op.outputs)},
          {"attributes", op.attrs->defaults()},
          {"gradient", list(gradients_of(op))},
          {"index_map", map_of(op)},
          {"colour", colour_name(op.colour)},
          {"backends", list(backends_of(op))},
          {"doc", op.doc}};
}

void run_ops(const Args& args) {
  if (args.has("--json")) {
    Json list = Json::array();
    for (const Op* op : all_ops()) list.push_back(op_json(*op));
    return print_json(list);
  }
  Table table;
  table.header = {"op", "operands", "gradient keeps", "index map", "colour", "backends"};
  for (const Op* op : all_ops()) {
    const std::vector<std::string> operands(op->inputs.begin(), op->inputs.end());
    table.rows.push_back({std::string(op->name), or_dash(join(operands, ",")),
                          or_dash(join(gradients_of(*op), " | ")), map_of(*op),
                          std::string(colour_name(op->colour)),
                          or_dash(join(backends_of(*op), ","))});
  }
  const std::string text = table.text();
  const std::size_t header_end = text.find('\n') + 1;
  // One line per op on standard output, so that it can be counted; the header is for people.
  if (output_is_terminal() && error_is_terminal()) print_error(text.substr(0, header_end));
  print(text.substr(header_end));
}

}  // namespace

constinit const Command kOps{
    .name = "ops",
    .usage = "[options]",
    .doc = "lists the ops, one line each",
    .flags = kOpsFlags,
    .details =
        "Columns: name; operands (`bias?` may be left out, `xs...` repeats); what the gradient\n"
        "keeps from the forward, alternatives separated by ` | `, or - where there is no "
        "gradient;\n"
        "the index map of its first sample, `composite` for an op made of others, - where indices\n"
        "are not quasi-affine; the mixed-precision colour; the backends that run it.\n",
    .example =
        "  $ plait ops | grep -E '^(conv2d|relu) '\n"
        "  conv2d                x,w,bias?                            x,w                          "
        "        nc[h+i-1][j+w-1],ocij,o->nohw                             white   ref,null,cpu\n"
        "  relu                  x                                    y | x | mask                 "
        "        a->a                                                      clear   ref,null,cpu\n",
    .run = run_ops};

}  // namespace plait::cli
