// Text to record.
#include "io/aicf/format.h"

#include "base/error.h"

namespace plait::io::aicf {

bool detects(std::string_view) { return false; }

Record read(std::string_view, const std::string&) { fail("aicf: not read yet"); }

}  // namespace plait::io::aicf
