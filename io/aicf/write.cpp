// Graph to record, record to text.
#include "io/aicf/format.h"

#include "base/error.h"

namespace plait::io::aicf {

Record from_graph(const ir::Graph&) { fail("aicf: no record yet"); }

std::string write(const Record&) { fail("aicf: not written yet"); }

}  // namespace plait::io::aicf
