// Graph to record, record to text.
#include "io/aitemplate/format.h"

#include "base/error.h"

namespace plait::io::aitemplate {

Record from_graph(const ir::Graph&) { fail("aitemplate: no record yet"); }

std::string write(const Record&) { fail("aitemplate: not written yet"); }

}  // namespace plait::io::aitemplate
