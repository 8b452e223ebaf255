// Random graphs for testing whatever must not change what a graph computes: passes and backends.
// One seed gives the same graph and the same numbers everywhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/graph.h"

namespace plait::test {

using NamedArrays = std::map<std::string, Array>;

/// A graph of every dtype, made of elementwise ops, moves, reductions, products and ops of the
/// table on their samples; with neutral constants, repeated and dead nodes, and next states. Some
/// sizes are the symbol `n` when `symbolic`.
ir::Graph random_graph(std::uint64_t seed, int steps = 24, bool symbolic = false);

/// A scalar f64 loss, differentiable everywhere, of states `w0`, `w1`...
ir::Graph random_smooth_graph(std::uint64_t seed, int steps = 12);

/// Values for the feeds and states of a graph without symbols, by name: small numbers and, when
/// `special`, zeros of both signs, infinities, NaN and extremes among them.
NamedArrays random_inputs(const ir::Graph& graph, std::uint64_t seed, bool special = true);

/// Node by node by definition: fetches by name, next states as `next NAME`.
NamedArrays evaluate_graph(const ir::Graph& graph, const NamedArrays& inputs);

/// Where two results differ in a bit, NaN being equal to NaN; empty when nowhere.
std::string difference(const NamedArrays& a, const NamedArrays& b);

}  // namespace plait::test
