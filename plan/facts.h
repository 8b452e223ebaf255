// What planning asks about each node, worked out once: what kind of work it is, its nest, and which
// of its loads walk their operand along the node's own indices.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "loop/nest.h"

namespace plait::plan {

enum class Kind {
  kConstant,  // a literal
  kMove,      // renames or repeats elements: one load, nothing computed
  kPoint,     // one value per point of its output
  kJoin,      // many operands, each copied to its own part of the output
  kReduce,    // sums, maxima... over indices that its load walks plainly
  kWindow,    // reduces over windows: its load mixes indices
  kTaps,      // sums of products, few for each index that both factors walk: one after the other
  kContract,  // sum of products of two operands
  kHand,      // written out: scans, scatters, random numbers
};

/// Whether it is summed, or reduced in another way, over indices of its group's space.
inline bool is_reduction(Kind kind) { return kind == Kind::kReduce || kind == Kind::kTaps; }

struct LoadFacts {
  bool plain = true;            // every index is a variable of the nest, or 0; nothing is guarded
  std::vector<int> var_of_dim;  // of a plain load: the variable, or -1 for 0
};

struct NodeFacts {
  Kind kind = Kind::kHand;
  loop::Nest nest;               // of all but kConstant and kHand
  std::vector<LoadFacts> loads;  // per load of the nest
  int operations = 0;            // scalar operations per point
  bool expensive = false;        // exp, division and the like among them
  bool is_product = false;       // a sum of products of two loads
  std::vector<char> taps{};      // of kTaps, per variable: each of its points is written out
  int out_rank = 0;              // variables of the nest that are the output's
};

/// Whether nodes are planned by what their ops say of them, or each as it is, by hand.
enum class Nodes { kByOp, kAsTheyAre };

/// Of every node of a graph. Nodes of one op, attributes and types share theirs: a network's layers
/// repeat.
class Facts {
 public:
  /// UserError on an opaque node: it cannot be run.
  explicit Facts(const ir::Graph& graph, Nodes nodes = Nodes::kByOp);

  const NodeFacts& operator[](std::size_t node) const { return distinct_[number_[node]]; }
  /// Nodes of one number share their facts.
  std::size_t number(std::size_t node) const { return number_[node]; }

 private:
  std::deque<NodeFacts> distinct_;
  std::vector<std::size_t> number_;  // per node
};

/// The name of a nest's variable as a symbol.
inline std::string symbol_of(const loop::IndexVar& var) { return "$" + var.name; }

/// Substitutes indices for a nest's output variables (and, behind them, its reduced ones).
DimBindings bindings_for(const loop::Nest& nest, const std::vector<Dim>& indices);

}  // namespace plait::plan
