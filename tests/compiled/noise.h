// How far a graph's results may move when every inexact step of it is off by a few roundings: the
// bound that a compiled program is held to. A value that only exact steps lead to may not move.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "tests/passes/random_graph.h"

namespace plait::test {

/// The results of a graph (as evaluate_graph names them), and how firm each element is.
struct Expected {
  struct Result {
    Array value;             // by the reference
    std::vector<double> by;  // per element: how far it may be off; NaN: anything goes
    bool exact = true;       // no inexact step leads to it: bits must agree
  };
  std::map<std::string, Result> results;
};

/// Evaluates the graph by definition, then several times more with noise: operands and results of
/// each inexact step (sums, products over an index, transcendental functions) are moved by up to
/// four roundings; operands of a sum of n terms by sqrt(n) times as much, its result by sqrt(n)
/// where that is more than four. An element whose kind changes under noise (NaN, infinite, an
/// integer) is left open; the others may be off by eight times what noise did, and by eight of the
/// smallest numbers of their dtype.
Expected expected_of(const ir::Graph& graph, const NamedArrays& inputs, std::uint64_t seed);

struct Agreement {
  std::string first;  // where results are too far apart; empty when nowhere
  std::int64_t compared = 0, open = 0;
};
Agreement agreement(const Expected& expected, const NamedArrays& got);

/// Results that hold no sum of floats: the order of work cannot change a bit of these.
std::set<std::string> order_free(const ir::Graph& graph);

}  // namespace plait::test
