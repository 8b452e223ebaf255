// The text form of graphs (`.plait`): printing and parsing are exact inverses. docs/text_form.md
// has the grammar.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"

namespace plait::ir {

/// Symbols first, then each graph; print(parse(print(g))) == print(g).
std::string print(const Graph& graph);
std::string print(const Package& package);

/// UserError `FILE:LINE:COLUMN: what ...` on the first mistake. `file` is only for messages.
Package parse(std::string_view text, std::string_view file = "<text>");
/// The only graph of a text; UserError when there are none or several.
Graph parse_graph(std::string_view text, std::string_view file = "<text>");

/// `f32[batch,8]` alone, with symbols resolved by `resolve`; for samples and command lines.
Type parse_type(std::string_view text, const DimResolver& resolve);

}  // namespace plait::ir
