// The annotated tree: modules, tensors and operators with layout, shape, dtype and placement.
#pragma once

#include <string>
#include <string_view>

#include "io/lines.h"
#include "io/oneflow/record.h"

namespace plait::io::oneflow {

/// Whether a line begins a note of a tensor: `(INPUT:`, `(OUTPUT:`, `(PARAMETER:`, `(BUFFER:`.
bool is_tensor_note(std::string_view line);
/// The note that begins on the current line and may take several. UserError when it is malformed
/// or the log ends inside it.
TensorNote read_tensor_note(Lines& lines);

/// `(MODULE:name:type)` or, in a tree, `(MODULE:name:type): (`.
ModuleNote read_module_note(const Lines& lines);

/// `(OPERATOR: name(inputs) -> (outputs), placement=(...))`
Operator read_operator(const Lines& lines);

/// `(GRAPH:name:type): (`: whether a line begins a tree.
bool is_tree_start(std::string_view line);
/// The tree that begins on the current line, up to the `)` that closes it. Lines that are no part
/// of a tree are skipped: other processes write into the log too.
Tree read_tree(Lines& lines);

std::string tensor_note_text(const TensorNote& note, int depth);
/// The whole tree, beginning with its `(GRAPH:` line.
std::string tree_text(const Tree& tree);

}  // namespace plait::io::oneflow
