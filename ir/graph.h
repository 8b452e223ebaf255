// The graph: a pure function (feeds, states) -> (fetches, next states). Nodes stand in execution
// order; nothing writes in place. Ops are names here: what they mean is in ops/.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "ir/attrs.h"
#include "ir/type.h"

namespace plait::ir {

using ValueId = std::int32_t;  // index into Graph::values
using NodeId = std::int32_t;   // index into Graph::nodes
inline constexpr ValueId kNone = -1;

/// The line of source, or of an imported document, that made a node.
struct Source {
  std::string file;
  int line = 0;
  bool operator==(const Source&) const = default;
};

struct Value {
  std::string name;  // unique in the graph, stable from build to build
  Type type;
  NodeId producer = kNone;  // kNone for feeds and states
};

struct Node {
  std::string op;
  std::vector<ValueId> inputs{};  // kNone for an optional operand that is left out
  std::vector<ValueId> outputs{};
  Attrs attrs{};
  std::string path{};  // of modules: `blocks.3.att.key`
  Source source{};
  bool opaque = false;  // an op that Plait lacks: typed outputs, cannot be run
};

/// How a state gets its first value: a row of the table of initialisers in ops/.
struct Init {
  std::string kind = "zeros";
  Attrs attrs;
  bool operator==(const Init&) const = default;
};

enum class Role { kParam, kBuffer, kSlot, kCounter };
/// `param` (trained), `buffer` (running statistics), `slot` (optimizer moments), `counter`.
std::string_view role_name(Role role);

struct State {
  std::string name;
  Type type;
  Role role = Role::kParam;
  Init init;
  bool operator==(const State&) const = default;
};

struct StateUse {
  State state;
  ValueId value;  // its content before the step
};

struct NextState {
  std::string state;
  ValueId value;
};

struct Fetch {
  std::string name;
  ValueId value;
};

struct Graph {
  std::string name = "graph";
  std::deque<Value> values;  // a deque: a reference to a type stays good while nodes are added
  std::vector<Node> nodes;
  std::vector<ValueId> feeds;
  std::vector<StateUse> states;
  std::vector<NextState> nexts;
  std::vector<Fetch> fetches;

  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
  const Type& type(ValueId id) const { return value(id).type; }

  /// Room for what is to be added.
  void reserve(std::size_t node_count, std::size_t value_count);
  /// Adds a value that no node makes (a feed or a state's content).
  ValueId add_feed(std::string name, Type type);
  ValueId add_state(State state);
  /// Appends a node; its outputs get `names`, or fresh ones made from the op's name where empty.
  NodeId add_node(Node node, const std::vector<Type>& types, std::vector<std::string> names = {});

  const StateUse* find_state(std::string_view name) const;
  /// By name; kNone when there is none.
  ValueId find_value(std::string_view name) const;
  /// `stem`, or `stem1`, `stem2`... when taken.
  std::string fresh_name(const std::string& stem);

 private:
  ValueId add_value(Value value);
  std::unordered_map<std::string, ValueId> by_name_;
  std::unordered_map<std::string, int> next_number_;
};

/// Several graphs over one table of named states: train, evaluate, accumulate, apply...
struct Package {
  std::vector<Graph> graphs;
  std::map<std::string, DecisionLog> logs{};  // by graph: decisions of what made it
};

/// Every state of the package once, in order of first use; UserError when two graphs disagree.
std::vector<State> state_table(const Package& package);

/// Symbols of all types and attributes, by name; UserError when one name has two ranges.
std::map<std::string, Dim> symbols_of(const Graph& graph);
std::map<std::string, Dim> symbols_of(const Package& package);

/// The graph with symbols replaced everywhere (types, attributes).
Graph substitute(const Graph& graph, const DimBindings& bindings);

/// How often each value is read by nodes, nexts and fetches.
std::vector<int> use_counts(const Graph& graph);

/// Where a node is, for messages: `%conv2d3 @ layer1.0.conv1 (models/resnet.cpp:40)`.
std::string describe(const Graph& graph, const Node& node);

}  // namespace plait::ir
