// Random packages of graphs for property tests: odd names, every kind of attribute, symbols,
// places, opaque nodes, operands left out. They pass the verifier; their ops mean nothing.
#pragma once

#include <random>

#include "ir/graph.h"

namespace plait::ir {

class RandomGraphs {
 public:
  explicit RandomGraphs(unsigned seed) : random_(seed) {}

  Package package();
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

 private:
  Graph graph(std::string name);
  void add_inputs(Graph& g);
  void add_node(Graph& g);
  std::string name();
  std::string fresh(const Graph& g);
  ValueId any_value(const Graph& g) { return below(static_cast<int>(g.values.size())); }
  Dim dim(int depth);
  Dim size();
  Type type();
  Place place(int rank);
  double real();
  Literal literal();
  AttrValue value();
  Attrs attrs();

  std::mt19937_64 random_;
  std::vector<Dim> symbols_;
};

}  // namespace plait::ir
