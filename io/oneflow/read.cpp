// Text to record.
#include "io/oneflow/format.h"

#include "base/error.h"

namespace plait::io::oneflow {

bool detects(std::string_view) { return false; }

Record read(Lines&) { fail("oneflow: not read yet"); }

}  // namespace plait::io::oneflow
