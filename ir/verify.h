// The structural verifier: what must hold for any graph, whatever its ops mean. That types agree
// with the ops is checked in ops/verify.
#pragma once

#include "ir/graph.h"

namespace plait::ir {

/// UserError naming graph and node when: an operand is made later or nowhere; a name is empty or
/// used twice; a value's producer does not list it; a node has no outputs; a next has another type
/// than its state, names an unknown one, or comes twice; two fetches share a name; a size may be
/// negative; a symbol has two ranges or a name that the text form cannot hold; a place splits a
/// dimension that the value does not have or its mesh does not match its ranks.
void verify(const Graph& graph);
void verify(const Package& package);

}  // namespace plait::ir
