// The structural verifier: ids first, so that everything after may follow them; then names, makers,
// states, fetches, types. Messages read `graph NAME: node %x @ path: what is wrong. Hint`.
#include "ir/verify.h"

#include <unordered_map>
#include <unordered_set>

#include "base/names.h"

namespace plait::ir {
namespace {

/// Interval bounds are reached when each term is one symbol of its own; a product or a quotient may
/// only seem to go below zero (n*n-n), so it is judged when its symbols are set.
bool has_exact_bounds(const Dim& d) {
  for (const DimTerm& t : d.terms()) {
    if (t.factors.size() != 1 || t.factors[0]->kind != DimAtom::kSymbol) return false;
  }
  return true;
}

using NameSet = std::unordered_set<std::string_view>;  // into what is verified

struct Verifier {
  const Graph& graph;

  template <class... Parts>
  [[noreturn]] void wrong(const Parts&... parts) const {
    fail("graph ", name_text(graph.name), ": ", parts...);
  }

  /// `x`, `%relu0`
  std::string text(ValueId id) const {
    const Value& v = graph.value(id);
    return (v.producer == kNone ? "" : "%") + name_text(v.name);
  }

  std::string node_text(const Node& node) const { return "node " + describe(graph, node) + ": "; }

  /// The node that makes the value, when one does.
  std::string maker_text(ValueId id) const {
    const NodeId maker = graph.value(id).producer;
    return maker == kNone ? "" : node_text(graph.node(maker));
  }

  bool exists(ValueId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < graph.values.size();
  }

  /// `what` is a function: its text is only made when it is needed, as everywhere below.
  template <class What>
  void need_value(ValueId id, What what) const {
    if (!exists(id)) wrong(what(), " is value ", id, ", but the graph has ", graph.values.size());
  }

  void ids() const {
    for (ValueId id : graph.feeds) need_value(id, [] { return "a feed"; });
    for (const StateUse& s : graph.states) {
      need_value(s.value, [&] { return "state " + name_text(s.state.name); });
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      auto text = [&](const char* what) { return str("node ", n, " (", node.op, "): ", what); };
      if (node.outputs.empty()) wrong(text("has no outputs"));
      for (ValueId id : node.outputs) need_value(id, [&] { return text("an output"); });
      for (ValueId id : node.inputs) {
        if (id != kNone) need_value(id, [&] { return text("an operand"); });
      }
    }
    for (const NextState& n : graph.nexts) {
      need_value(n.value, [&] { return "next " + name_text(n.state); });
    }
    for (const Fetch& f : graph.fetches) {
      need_value(f.value, [&] { return "fetch " + name_text(f.name); });
    }
    for (const Value& v : graph.values) {
      if (v.producer < kNone || v.producer >= static_cast<NodeId>(graph.nodes.size())) {
        wrong("the producer of ", name_text(v.name), " is node ", v.producer,
              ", but the graph has ", graph.nodes.size());
      }
    }
  }

  void names() const {
    NameSet seen(graph.values.size());
    for (const Value& v : graph.values) {
      if (v.name.empty()) wrong("a value has an empty name");
      if (!seen.insert(v.name).second) wrong("the name ", name_text(v.name), " is used twice");
    }
  }

  /// Every value is listed once: as a feed, as a state or by the node that is its producer.
  void makers() const {
    std::vector<int> listed(graph.values.size(), 0);
    auto list = [&](ValueId id, NodeId by, auto as) {
      const NodeId producer = graph.value(id).producer;
      if (producer != by) {
        wrong(as(), text(id), ", but its producer is ",
              producer == kNone ? "no node" : "node " + describe(graph, graph.node(producer)));
      }
      if (++listed[static_cast<std::size_t>(id)] > 1) wrong(as(), text(id), " for a second time");
    };
    for (ValueId id : graph.feeds) list(id, kNone, [] { return "the feeds list "; });
    for (const StateUse& s : graph.states) list(s.value, kNone, [] { return "the states list "; });
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      auto as = [&] { return node_text(node) + "its outputs list "; };
      for (ValueId id : node.outputs) list(id, static_cast<NodeId>(n), as);
    }
    for (std::size_t i = 0; i < listed.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (listed[i]) continue;
      if (graph.value(id).producer == kNone) {
        wrong(text(id), " is made nowhere: it is no feed, state or output");
      }
      wrong(maker_text(id), text(id),
            " names this node as its producer, but is not among its outputs");
    }
  }

  void operands() const {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId id = node.inputs[i];
        if (id == kNone || graph.value(id).producer < static_cast<NodeId>(n)) continue;
        wrong(node_text(node), "operand ", i, " is ", text(id),
              ", which is made later. Nodes stand in execution order");
      }
      literals(node.attrs, [&] { return node_text(node); });
    }
  }

  template <class What>
  void literals(const Attrs& attrs, What what) const {
    for (const auto& [name, value] : attrs) {
      const Literal* literal = std::get_if<Literal>(&value);
      if (literal && !literal->array) {
        wrong(what(), "attribute ", name_text(name), " is a literal without an array");
      }
    }
  }

  void states() const {
    for (const StateUse& s : graph.states) {
      const Value& v = graph.value(s.value);
      if (v.name != s.state.name) {
        wrong("state ", name_text(s.state.name),
              " has a value of another name: ", name_text(v.name));
      }
      if (!(v.type == s.state.type)) {
        wrong("state ", name_text(s.state.name), " is ", s.state.type, ", its value is ", v.type);
      }
      literals(s.state.init.attrs, [&] { return "state " + name_text(s.state.name) + ": "; });
    }
  }

  void nexts() const {
    std::unordered_map<std::string_view, const State*> by_name(graph.states.size());
    for (const StateUse& s : graph.states) by_name.emplace(s.state.name, &s.state);
    NameSet seen(graph.nexts.size());
    for (const NextState& n : graph.nexts) {
      const auto it = by_name.find(n.state);
      if (it == by_name.end()) {
        std::vector<std::string> known;
        for (const StateUse& s : graph.states) known.push_back(s.state.name);
        wrong("next names the state ", name_text(n.state), ", which the graph does not have.",
              suggestion(n.state, known));
      }
      if (!seen.insert(n.state).second) wrong("state ", name_text(n.state), " has two next values");
      const Type& type = it->second->type;
      if (graph.type(n.value) == type) continue;
      wrong(maker_text(n.value), "next ", name_text(n.state), " is ", text(n.value), ", a ",
            graph.type(n.value), ", but the state is ", type, ". Cast or reshape it");
    }
  }

  void fetches() const {
    NameSet seen;
    for (const Fetch& f : graph.fetches) {
      if (!seen.insert(f.name).second) wrong("two fetches are named ", name_text(f.name));
    }
  }

  void types() const {
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      const Type& type = graph.values[i].type;
      for (const Dim& d : type.shape) {
        if (d.lo() >= 0 || (!has_exact_bounds(d) && d.hi() >= 0)) continue;
        wrong(maker_text(id), text(id), " is ", type, ", where the size ", d, " may be ", d.lo(),
              d.is_const() ? "" : ". Raise the least value of its symbols");
      }
      if (!type.place.empty()) place(id, type);
    }
  }

  void place(ValueId id, const Type& type) const {
    const Place& p = type.place;
    auto what = [&] { return str(maker_text(id), text(id), " is ", type, ": "); };
    std::int64_t cells = 1;
    bool fits = true;
    for (std::int64_t size : p.mesh) {
      if (size <= 0) wrong(what(), "a mesh axis cannot have the size ", size);
      fits &= !__builtin_mul_overflow(cells, size, &cells);
    }
    if (!fits || cells != static_cast<std::int64_t>(p.ranks.size())) {
      wrong(what(), "the mesh ", shape_text(p.mesh), " does not match its ", p.ranks.size(),
            " ranks");
    }
    if (p.axes.size() != p.mesh.size()) {
      wrong(what(), "there are ", p.axes.size(), " layouts for ", p.mesh.size(), " mesh axes");
    }
    std::unordered_set<int> seen;
    for (int rank : p.ranks) {
      if (rank < 0) wrong(what(), "a rank cannot be ", rank);
      if (!seen.insert(rank).second) wrong(what(), "rank ", rank, " is listed twice");
    }
    for (const Layout& layout : p.axes) {
      if (layout.kind == Layout::kSplit && (layout.axis < 0 || layout.axis >= type.rank())) {
        wrong(what(), "it splits dimension ", layout.axis, ", but the value has ", type.rank());
      }
    }
  }

  void symbols() const {
    for (const auto& [name, symbol] : symbols_of(graph)) {
      if (!is_symbol_name(name)) wrong(quoted(name), " cannot name a symbol: ", kSymbolRule);
    }
  }
};

}  // namespace

void verify(const Graph& graph) {
  const Verifier v{graph};
  v.ids();
  v.names();
  v.makers();
  v.operands();
  v.states();
  v.nexts();
  v.fetches();
  v.types();
  v.symbols();
}

void verify(const Package& package) {
  NameSet names;
  for (const Graph& graph : package.graphs) {
    verify(graph);
    if (!names.insert(graph.name).second) fail("two graphs are named ", name_text(graph.name));
  }
  static_cast<void>(state_table(package));
  static_cast<void>(symbols_of(package));
}

}  // namespace plait::ir
