// Building graphs and asking them simple questions.
#include "ir/graph.h"

#include <algorithm>

namespace plait::ir {

std::string_view role_name(Role role) {
  constexpr std::string_view names[] = {"param", "buffer", "slot", "counter"};
  return names[static_cast<std::size_t>(role)];
}

void Graph::reserve(std::size_t node_count, std::size_t value_count) {
  nodes.reserve(node_count);
  by_name_.reserve(value_count);
}

ValueId Graph::add_value(Value value) {
  const auto id = static_cast<ValueId>(values.size());
  if (!by_name_.emplace(value.name, id).second) {
    fail("the name '", value.name, "' is used twice in graph ", name);
  }
  values.push_back(std::move(value));
  return id;
}

ValueId Graph::add_feed(std::string feed_name, Type type) {
  const ValueId id = add_value({std::move(feed_name), std::move(type), kNone});
  feeds.push_back(id);
  return id;
}

ValueId Graph::add_state(State state) {
  const ValueId id = add_value({state.name, state.type, kNone});
  states.push_back({std::move(state), id});
  return id;
}

std::string Graph::fresh_name(const std::string& stem) {
  int& number = next_number_[stem];
  for (;;) {
    std::string candidate = number == 0 ? stem : stem + std::to_string(number);
    ++number;
    if (!by_name_.count(candidate)) return candidate;
  }
}

NodeId Graph::add_node(Node node, const std::vector<Type>& types, std::vector<std::string> names) {
  const auto id = static_cast<NodeId>(nodes.size());
  names.resize(types.size());
  node.outputs.clear();
  for (std::size_t i = 0; i < types.size(); ++i) {
    std::string value_name = names[i].empty() ? fresh_name(node.op) : std::move(names[i]);
    node.outputs.push_back(add_value({std::move(value_name), types[i], id}));
  }
  nodes.push_back(std::move(node));
  return id;
}

const StateUse* Graph::find_state(std::string_view state_name) const {
  // add_state makes a value of the same name, and values only grow: states stand in their order.
  const ValueId id = find_value(state_name);
  const auto use = std::lower_bound(states.begin(), states.end(), id,
                                    [](const StateUse& s, ValueId v) { return s.value < v; });
  return id != kNone && use != states.end() && use->value == id ? &*use : nullptr;
}

ValueId Graph::find_value(std::string_view value_name) const {
  const auto it = by_name_.find(std::string(value_name));
  return it == by_name_.end() ? kNone : it->second;
}

std::vector<State> state_table(const Package& package) {
  std::vector<State> table;
  std::unordered_map<std::string, std::size_t> where;
  for (const Graph& graph : package.graphs) {
    for (const StateUse& use : graph.states) {
      const auto [it, added] = where.emplace(use.state.name, table.size());
      if (added) {
        table.push_back(use.state);
      } else if (!(table[it->second] == use.state)) {
        fail("state ", use.state.name, " is declared differently in graph ", graph.name, ": ",
             use.state.type, " here, ", table[it->second].type,
             " before (type, role and initial value must agree)");
      }
    }
  }
  return table;
}

namespace {

template <class Visit>
void for_each_dim(const Graph& graph, Visit visit) {
  auto shape = [&](const Shape& s) {
    for (const Dim& d : s) visit(d);
  };
  auto attributes = [&](const Attrs& attrs) {
    for (const auto& [key, value] : attrs) {
      if (const Dim* d = std::get_if<Dim>(&value)) visit(*d);
      if (const Shape* s = std::get_if<Shape>(&value)) shape(*s);
    }
  };
  for (const Value& v : graph.values) shape(v.type.shape);
  for (const StateUse& s : graph.states) attributes(s.state.init.attrs);
  for (const Node& n : graph.nodes) attributes(n.attrs);
}

Attrs substitute(const Attrs& attrs, const DimBindings& bindings) {
  Attrs out;
  for (const auto& [key, value] : attrs) {
    if (const Dim* d = std::get_if<Dim>(&value)) {
      out.set(key, d->substitute(bindings));
    } else if (const Shape* s = std::get_if<Shape>(&value)) {
      out.set(key, plait::substitute(*s, bindings));
    } else {
      out.set(key, value);
    }
  }
  return out;
}

}  // namespace

std::map<std::string, Dim> symbols_of(const Graph& graph) {
  std::map<std::string, Dim> symbols;
  for_each_dim(graph, [&](const Dim& d) {
    if (d.is_const()) return;
    std::map<std::string, Dim> found;
    d.collect_symbols(found);
    for (const auto& [name, symbol] : found) {
      const auto [it, added] = symbols.emplace(name, symbol);
      if (!added && (it->second.lo() != symbol.lo() || it->second.hi() != symbol.hi())) {
        fail("symbol ", name, " has two ranges in graph ", graph.name, ": [", it->second.lo(), ", ",
             it->second.hi(), "] and [", symbol.lo(), ", ", symbol.hi(), "]");
      }
    }
  });
  return symbols;
}

std::map<std::string, Dim> symbols_of(const Package& package) {
  std::map<std::string, Dim> all;
  std::map<std::string, const Graph*> first_user;
  for (const Graph& graph : package.graphs) {
    for (const auto& [name, symbol] : symbols_of(graph)) {
      const auto [it, added] = all.emplace(name, symbol);
      if (added) {
        first_user.emplace(name, &graph);
      } else if (it->second.lo() != symbol.lo() || it->second.hi() != symbol.hi()) {
        fail("symbol ", name, " has two ranges: [", it->second.lo(), ", ", it->second.hi(),
             "] in graph ", first_user[name]->name, " and [", symbol.lo(), ", ", symbol.hi(),
             "] in graph ", graph.name);
      }
    }
  }
  return all;
}

Graph substitute(const Graph& graph, const DimBindings& bindings) {
  Graph out = graph;
  for (Value& v : out.values) v.type.shape = plait::substitute(v.type.shape, bindings);
  for (StateUse& s : out.states) {
    s.state.type.shape = out.type(s.value).shape;
    s.state.init.attrs = substitute(s.state.init.attrs, bindings);
  }
  for (Node& n : out.nodes) n.attrs = substitute(n.attrs, bindings);
  return out;
}

std::vector<int> use_counts(const Graph& graph) {
  std::vector<int> counts(graph.values.size(), 0);
  auto use = [&](ValueId id) {
    if (id != kNone) ++counts[static_cast<std::size_t>(id)];
  };
  for (const Node& n : graph.nodes) {
    for (ValueId id : n.inputs) use(id);
  }
  for (const NextState& n : graph.nexts) use(n.value);
  for (const Fetch& f : graph.fetches) use(f.value);
  return counts;
}

std::string describe(const Graph& graph, const Node& node) {
  std::string out = node.outputs.empty() ? node.op : "%" + graph.value(node.outputs[0]).name;
  if (!node.path.empty()) out += " @ " + node.path;
  if (!node.source.file.empty()) out += str(" (", node.source.file, ":", node.source.line, ")");
  return out;
}

}  // namespace plait::ir
