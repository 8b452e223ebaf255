// Printing the text form: symbols, then graphs. The same graph always gives the same bytes.
#include "base/names.h"
#include "base/symbols.h"
#include "ir/text.h"

namespace plait::ir {
namespace {

constexpr std::size_t kLineWidth = 100, kExpressionWidth = 40, kTypeWidth = 11;

template <class List, class Text>
std::string joined(const List& list, Text text, std::string_view separator = ", ") {
  std::string out;
  for (const auto& item : list) out += str(out.empty() ? "" : separator, text(item));
  return out;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

std::string layout_text(const Layout& layout) {
  switch (layout.kind) {
    case Layout::kSplit:
      return str("S(", layout.axis, ")");
    case Layout::kBroadcast:
      return "B";
    case Layout::kPartial:
      return "P";
  }
  throw Bug("unknown layout");
}

std::string operand_text(const Graph& graph, ValueId id) {
  if (id == kNone) return "_";
  check(id >= 0 && static_cast<std::size_t>(id) < graph.values.size(), "graph ", graph.name,
        " has no value ", id);
  const Value& v = graph.value(id);
  return (v.producer == kNone ? "" : "%") + name_text(v.name);
}

std::string attr_item(const std::pair<std::string, AttrValue>& attr) {
  return name_text(attr.first) + "=" + attr_text(attr.second);
}

std::string state_text(const State& state) {
  std::string out = str(name_text(state.name), ": ", state.type);
  if (state.role != Role::kParam) out += str(" as ", role_name(state.role));
  if (state.init == Init{}) return out;
  out += " = " + name_text(state.init.kind);
  if (!state.init.attrs.empty()) out += "(" + joined(state.init.attrs, attr_item) + ")";
  return out;
}

/// On one line when it fits, else one feed or state per line.
std::string header_text(const Graph& graph) {
  std::vector<std::string> feeds, states;
  for (ValueId id : graph.feeds) {
    feeds.push_back(str(operand_text(graph, id), ": ", graph.type(id)));
  }
  for (const StateUse& use : graph.states) states.push_back(state_text(use.state));
  auto clause = [](const std::vector<std::string>& items, bool broken) {
    if (items.empty()) return std::string("()");
    return broken ? "(\n    " + join(items, ",\n    ") + ")" : "(" + join(items, ", ") + ")";
  };
  auto header = [&](bool broken) {
    std::string out = "graph " + name_text(graph.name) + clause(feeds, broken);
    if (!states.empty()) out += " state" + clause(states, broken);
    return out + " {";
  };
  const std::string line = header(false);
  return line.size() <= kLineWidth ? line : header(true);
}

std::string node_text(const Graph& graph, const Node& node) {
  auto operand = [&](ValueId id) { return operand_text(graph, id); };
  std::string line = "  " + joined(node.outputs, operand) + " = ";
  line += node.opaque ? "opaque " + quoted(node.op) : name_text(node.op);
  line += "(" + joined(node.inputs, operand);
  if (!node.inputs.empty() && !node.attrs.empty()) line += ", ";
  line += joined(node.attrs, attr_item) + ")";
  std::string types = joined(node.outputs, [&](ValueId id) { return type_text(graph.type(id)); });
  line = padded(std::move(line), kExpressionWidth) + " : ";
  if (node.path.empty() && node.source == Source{}) return line + types;
  line += padded(std::move(types), kTypeWidth) + " @";
  if (!node.path.empty()) line += " " + name_text(node.path);
  if (node.source == Source{}) return line;
  return line + str(" (", name_text(node.source.file), ":", node.source.line, ")");
}

std::string fetch_text(const Graph& graph, const Fetch& fetch) {
  const std::string operand = operand_text(graph, fetch.value);
  const bool same = fetch.value != kNone && graph.value(fetch.value).name == fetch.name;
  return same ? operand : name_text(fetch.name) + " = " + operand;
}

std::string graph_text(const Graph& graph) {
  std::string out = header_text(graph) + "\n";
  for (const Node& node : graph.nodes) out += node_text(graph, node) + "\n";
  for (const NextState& next : graph.nexts) {
    out += str("  next ", name_text(next.state), " = ", operand_text(graph, next.value), "\n");
  }
  if (!graph.fetches.empty()) {
    out += "  return " +
           joined(graph.fetches, [&](const Fetch& f) { return fetch_text(graph, f); }) + "\n";
  }
  return out + "}\n";
}

}  // namespace

std::string place_text(const Place& place) {
  auto number = [](auto n) { return std::to_string(n); };
  std::string out = name_text(place.device) + "[" + joined(place.ranks, number, ",") + "]";
  if (place.mesh.size() != 1) out += "{" + joined(place.mesh, number, ",") + "}";
  return out + "(" + joined(place.axes, layout_text, ",") + ")";
}

std::string type_text(const Type& type) {
  std::string out = std::string(name_of(type.dtype)) + shape_text(type.shape);
  if (!type.place.empty()) out += " on " + place_text(type.place);
  return out;
}

std::string print(const Graph& graph) {
  const std::string symbols = symbols_text(symbols_of(graph));
  return symbols + (symbols.empty() ? "" : "\n") + graph_text(graph);
}

std::string print(const Package& package) {
  std::string out = symbols_text(symbols_of(package));
  for (const Graph& graph : package.graphs) out += (out.empty() ? "" : "\n") + graph_text(graph);
  return out;
}

}  // namespace plait::ir
