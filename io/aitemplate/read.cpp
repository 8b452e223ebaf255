// Text to record.
#include "io/aitemplate/format.h"

#include "base/error.h"

namespace plait::io::aitemplate {

bool detects(std::string_view) { return false; }

Record read(std::string_view, const std::string&) { fail("aitemplate: not read yet"); }

}  // namespace plait::io::aitemplate
