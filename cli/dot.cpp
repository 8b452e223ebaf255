// Graphviz text of a graph.
#include "cli/dot.h"

#include <map>
#include <memory>

#include "base/error.h"
#include "base/text.h"

namespace plait::cli {
namespace {

/// The tree of modules: what stands under each path.
struct Module {
  std::map<std::string, std::unique_ptr<Module>> children;
  std::vector<ir::NodeId> nodes;
};

Module modules_of(const ir::Graph& graph) {
  Module root;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Module* at = &root;
    if (!graph.nodes[i].path.empty()) {
      for (const std::string& part : split(graph.nodes[i].path, '.')) {
        std::unique_ptr<Module>& child = at->children[part];
        if (!child) child = std::make_unique<Module>();
        at = child.get();
      }
    }
    at->nodes.push_back(static_cast<ir::NodeId>(i));
  }
  return root;
}

/// Labels in which `\n` starts a line: each part is escaped, the break is not.
std::string label(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    const std::string escaped = quoted(line);
    out += (out.empty() ? "" : "\\n") + escaped.substr(1, escaped.size() - 2);
  }
  return "\"" + out + "\"";
}

void print_module(const ir::Graph& graph, const Module& module, const std::string& path,
                  const std::string& indent, std::string& out) {
  for (ir::NodeId id : module.nodes) {
    const ir::Node& node = graph.node(id);
    std::vector<std::string> lines{node.op};
    for (ir::ValueId v : node.outputs) {
      lines.push_back(str("%", graph.value(v).name, ": ", graph.type(v)));
    }
    out += str(indent, "n", id, " [shape=box", node.opaque ? ", style=dashed" : "",
               ", label=", label(lines), "];\n");
  }
  for (const auto& [name, child] : module.children) {
    const std::string inner = path.empty() ? name : path + "." + name;
    out += str(indent, "subgraph ", quoted("cluster_" + inner), " {\n", indent,
               "  label=", label({inner}), ";\n");
    print_module(graph, *child, inner, indent + "  ", out);
    out += indent + "}\n";
  }
}

/// What the edges of a value start from: its node, or the ellipse of a feed or state.
std::string origin(const ir::Graph& graph, ir::ValueId id) {
  const ir::NodeId producer = graph.value(id).producer;
  return producer == ir::kNone ? str("v", id) : str("n", producer);
}

}  // namespace

std::string dot_text(const ir::Graph& graph) {
  std::string out = "digraph " + quoted(graph.name) + " {\n  node [fontsize=10];\n";
  const auto ellipse = [&](ir::ValueId id, std::string_view style) {
    out += str("  v", id, " [shape=ellipse", style,
               ", label=", label({graph.value(id).name, type_text(graph.type(id))}), "];\n");
  };
  for (ir::ValueId id : graph.feeds) ellipse(id, "");
  for (const ir::StateUse& use : graph.states) ellipse(use.value, ", style=filled");
  print_module(graph, modules_of(graph), "", "  ", out);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ir::ValueId id : graph.nodes[i].inputs) {
      if (id == ir::kNone) continue;
      out += str("  ", origin(graph, id), " -> n", i,
                 " [label=", label({type_text(graph.type(id))}), ", fontsize=8];\n");
    }
  }
  const auto end = [&](const std::string& name, ir::ValueId from, const std::string& text) {
    out += str("  ", name, " [shape=plaintext, label=", label({text}), "];\n  ",
               origin(graph, from), " -> ", name, ";\n");
  };
  for (std::size_t i = 0; i < graph.nexts.size(); ++i) {
    end(str("s", i), graph.nexts[i].value, "next " + graph.nexts[i].state);
  }
  for (std::size_t i = 0; i < graph.fetches.size(); ++i) {
    end(str("f", i), graph.fetches[i].value, "return " + graph.fetches[i].name);
  }
  return out + "}\n";
}

}  // namespace plait::cli
