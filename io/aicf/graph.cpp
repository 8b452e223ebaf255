// Record to graph.
#include "io/aicf/format.h"

#include "base/error.h"

namespace plait::io::aicf {

Import to_graphs(const Record&) { fail("aicf: no graphs yet"); }

}  // namespace plait::io::aicf
