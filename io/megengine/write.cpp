// Graph to record, record to text.
#include "io/megengine/format.h"

#include "base/error.h"

namespace plait::io::megengine {

Record from_graph(const ir::Graph&, const RunTimes&) { fail("megengine: no record yet"); }

std::string write(const Record&) { fail("megengine: not written yet"); }

}  // namespace plait::io::megengine
