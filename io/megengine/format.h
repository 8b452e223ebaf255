// The format's doors: text to record, record to graph, graph to record, record to text.
#pragma once

#include <string>
#include <string_view>

#include "io/import.h"
#include "io/megengine/record.h"
#include "io/run_times.h"

namespace plait::io::megengine {

/// Whether a text that begins so is of this format; `head` is the first 64 KiB at most.
bool detects(std::string_view head);

/// UserError on the first mistake: `FILE:LINE:COLUMN: what` where it is no JSON, else `FILE: JSON
/// path: what, and a hint`. Keys that are not known are kept.
Record read(std::string_view text, const std::string& file);

/// The graphs of the document; UserError names the node that cannot be.
Import to_graphs(const Record& record);

/// The graph of a document in numbers alone, and by node the place in the record of the operator
/// that it stands for.
struct Trace {
  ir::Graph graph;
  std::vector<int> op_of;
};
Trace traced(const Record& record);

/// A graph of ours in the words of this format; UserError names the node it has no word for.
Record from_graph(const ir::Graph& graph, const RunTimes& times);

std::string write(const Record& record);

}  // namespace plait::io::megengine
