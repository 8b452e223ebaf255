// Record to graph.
#include "io/megengine/format.h"

#include "base/error.h"

namespace plait::io::megengine {

Import to_graphs(const Record&) { fail("megengine: no graphs yet"); }

}  // namespace plait::io::megengine
