// Texts of planning's stages.
#include "plan/stage_text.h"

#include "base/at.h"
#include "base/text.h"
#include "ir/text.h"
#include "loop/kernel_text.h"

namespace plait::plan {
namespace {

constexpr std::string_view kKindNames[] = {"constant", "move", "point",    "join", "reduce",
                                           "window",   "taps", "contract", "hand"};
constexpr std::string_view kGroupNames[] = {"loop", "contract", "hand"};
constexpr std::string_view kDirectionNames[] = {"", " by row", " by column", " by row and column"};

std::string layout_of(const Layout& layout) {
  std::vector<std::string> axes;
  for (int axis : layout) axes.push_back(str(axis));
  return "[" + join(axes, ",") + "]";
}

std::string name_of(const ir::Graph& graph, ir::ValueId v) {
  return (graph.value(v).producer == ir::kNone ? "" : "%") + graph.value(v).name;
}

/// Every line two columns further in.
std::string indented(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    if (!line.empty()) out += "  " + line;
    out += '\n';
  }
  out.pop_back();  // the text ends with its last line
  return out;
}

class Steps {
 public:
  explicit Steps(const Planning& planning) : p_(planning) {}

  /// A line for each; with its kernels behind it where these are asked for.
  std::string run(bool with_kernels) {
    std::string out;
    for (std::size_t i = 0; i < p_.draft.steps.size(); ++i) {
      const DraftStep& d = p_.draft.steps[i];
      const program::Uses uses = program::uses_of(d.step);
      out +=
          str("step ", i, " ", d.step.kernel, " ", d.step.kind, "  (", names(uses.reads), ") -> (",
              names(uses.writes), ")", d.step.path.empty() ? "" : "  @ " + d.step.path, "\n");
      if (with_kernels) out += kernels(d, i);
    }
    return out;
  }

 private:
  std::string name(ViewId v) const {
    if (!v.valid()) return "the product";
    const bool made = p_.graph().value(p_.draft.value(v)).producer != ir::kNone;
    return (made ? "%" : "") + p_.draft.views[v.index()].name;
  }

  std::string names(const std::vector<ViewId>& views) const {
    std::vector<std::string> out;
    for (ViewId v : views) out.push_back(name(v));
    return join(out, ", ");
  }

  /// Kernels stand in the order of the calls: one for a loop, one for each part of a product that
  /// something follows.
  std::string kernels(const DraftStep& d, std::size_t step) {
    std::string out;
    std::size_t next = 0;
    const auto kernel = [&] {
      std::vector<std::string> buffers;
      const StepKernel& step_kernel = d.kernels[next++];
      for (std::size_t b = 0; b < step_kernel.views.size(); ++b) {
        buffers.push_back(str("b", b, " = ", name(step_kernel.views[b])));
      }
      const loop::Kernel& k = *step_kernel.kernel;
      out += once(k.epilogue ? "epilogue" : "kernel", loop::print(k), buffers, step);
    };
    for (const program::Call& call : d.step.calls) {
      if (std::holds_alternative<LoopCall>(call)) kernel();
      const auto* product = std::get_if<ProductCall>(&call);
      for (std::size_t p = 0; product && p < product->parts.size(); ++p) {
        std::vector<std::string> operands{"a = " + name(product->a), "b = " + name(product->b)};
        const bool bare = product->c.valid();
        if (bare) operands.push_back("c = " + name(product->c));
        out += once("contraction", loop::print(product->parts[p].contraction), operands, step);
        if (!bare) kernel();
      }
    }
    return out;
  }

  /// A text, or in which step it stood already; what is read and written in a comment.
  std::string once(std::string_view what, const std::string& text,
                   const std::vector<std::string>& buffers, std::size_t step) {
    const auto [known, fresh] = known_.try_emplace(text, step);
    const std::string where = fresh ? "" : str(": the ", what, " of step ", known->second);
    return str("  # ", join(buffers, ", "), where, "\n", fresh ? indented(text) : "");
  }

  const Planning& p_;
  std::map<std::string, std::size_t> known_;
};

}  // namespace

std::string graph_text(const Planning& planning) { return ir::print(planning.graph()); }

std::string facts_text(const Planning& planning) {
  std::string out;
  for (std::size_t n = 0; n < planning.graph().nodes.size(); ++n) {
    const NodeFacts& f = (*planning.facts)[n];
    out += str(name_of(planning.graph(), planning.graph().nodes[n].outputs[0]), "  ",
               kKindNames[static_cast<std::size_t>(f.kind)]);
    if (f.operations > 0) out += str(", ", f.operations, " operations a point");
    if (f.expensive) out += ", expensive";
    out += '\n';
  }
  return out;
}

std::string layout_text(const Planning& planning) {
  std::string out;
  for (std::size_t v = 0; v < planning.graph().values.size(); ++v) {
    const auto id = static_cast<ir::ValueId>(v);
    if (planning.layouts.is_default(id)) continue;
    out += str(name_of(planning.graph(), id), "  ", layout_of(planning.layouts.at(id)), "\n");
  }
  return out;
}

std::string group_text(const Planning& planning) {
  const ir::Graph& graph = planning.graph();
  std::string out;
  for (std::size_t i = 0; i < planning.grouping.groups.size(); ++i) {
    const Group& g = planning.grouping.groups[i];
    std::vector<std::string> rows, inner;
    for (std::size_t p = 0; p < g.space.size(); ++p) {
      (g.split && g.inner[p] ? inner : rows).push_back(g.space[p].text());
    }
    out += str("group ", i, " ", kGroupNames[static_cast<std::size_t>(g.type)], " over [",
               join(rows, ","), "]");
    if (g.split) out += str(" x [", join(inner, ","), "]");
    out += '\n';
    for (ir::NodeId n : g.nodes) {
      const ir::ValueId v = graph.node(n).outputs[0];
      out += str("  ", name_of(graph, v), " = ", graph.node(n).op,
                 kDirectionNames[static_cast<std::size_t>(planning.grouping.directions[at(n)])],
                 planning.grouping.stored[at(v)] ? ", stored" : "", "\n");
    }
  }
  return out;
}

std::string steps_text(const Planning& planning) { return Steps(planning).run(false); }

std::string kernels_text(const Planning& planning) { return Steps(planning).run(true); }

std::string program_text(const Planning& planning) {
  program::Program program = planning.program;
  program.seconds.clear();  // a clock's
  return to_text(program);
}

}  // namespace plait::plan
