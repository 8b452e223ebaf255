// The format's doors: text to record, record to graph, graph to record, record to text.
#pragma once

#include <string>
#include <string_view>

#include "io/aitemplate/record.h"
#include "io/import.h"

namespace plait::io::aitemplate {

/// Whether a text that begins so is of this format; `head` is the first 64 KiB at most.
bool detects(std::string_view head);

/// UserError `FILE:LINE: what, and a hint` on the first mistake.
Record read(std::string_view text, const std::string& file);

/// The graphs of the document; UserError names the node that cannot be.
Import to_graphs(const Record& record);

/// A graph of ours in the words of this format; UserError names the node it has no word for.
Record from_graph(const ir::Graph& graph);

std::string write(const Record& record);

}  // namespace plait::io::aitemplate
