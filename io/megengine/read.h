// The parts of reading: the two halves of a document, and what must hold between them.
#pragma once

#include "io/megengine/fields.h"

namespace plait::io::megengine {

/// Fills operators, vars, chunks and the sequence.
void read_graph_exec(const At& graph, Record& record);
/// The ids, and what they point to: UserError at the JSON path of the first that is wrong.
void check_graph(const Record& record);
/// Times and footprints name operators that exist.
void check_profiler(const Record& record);

}  // namespace plait::io::megengine
