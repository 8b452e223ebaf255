// Record to graph.
#include "io/aitemplate/format.h"

#include "base/error.h"

namespace plait::io::aitemplate {

Import to_graphs(const Record&) { fail("aitemplate: no graphs yet"); }

}  // namespace plait::io::aitemplate
