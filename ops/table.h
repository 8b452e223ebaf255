// The op table: every family's ops in one list, and what is derived from an op's entry.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace plait {

/// Sorted by name.
std::span<const Op* const> all_ops();
/// Null when there is none.
const Op* find_op(std::string_view name);
/// UserError with the nearest name when there is none.
const Op& op_named(std::string_view name);
std::vector<std::string> op_names();

/// A node of a graph as its op sees it, outputs included. The node must not be opaque.
NodeView view_of(const ir::Graph& graph, const ir::Node& node);
/// Checks operand count, dtypes and attributes against the entry, then infers the output types.
std::vector<ir::Type> infer(const NodeView& view);

/// Whether the op is one nest: elementwise formulas and index maps.
inline bool has_nest(const Op& op) { return op.scalar || op.nest; }
/// The nest of a node; Bug when the op has none.
loop::Nest nest_of(const NodeView& view);

/// Operations of a node by the rules of counting: contractions 2 per multiply-add, pointwise its
/// scalar operations, reductions their input elements, views, casts and gathers 0, composites the
/// sum of their decomposition. 0 for opaque nodes.
Dim operations_of(const ir::Graph& graph, const ir::Node& node);
/// Inputs read and outputs written, each once.
Dim bytes_of(const ir::Graph& graph, const ir::Node& node);
/// Whether the op only renames elements: its halves are never widened.
bool moves_only(const Op& op);
bool is_view(const ir::Node& node);

/// A composite node as a graph of its own: feeds are the operands that are there, fetches the
/// outputs, in order.
ir::Graph decomposition_of(const NodeView& view);

}  // namespace plait
