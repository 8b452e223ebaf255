// Graph to record, record to text.
#include "io/oneflow/format.h"

#include "base/error.h"

namespace plait::io::oneflow {

Record from_graph(const ir::Graph&) { fail("oneflow: no record yet"); }

std::string write(const Record&) { fail("oneflow: not written yet"); }

}  // namespace plait::io::oneflow
