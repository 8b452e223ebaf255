// Record to graph.
#include "io/oneflow/format.h"

#include "base/error.h"

namespace plait::io::oneflow {

Import to_graphs(const Record&) { fail("oneflow: no graphs yet"); }

}  // namespace plait::io::oneflow
