// Text to record.
#include "io/chainer/format.h"

#include "base/error.h"

namespace plait::io::chainer {

bool detects(std::string_view) { return false; }

Record read(std::string_view, const std::string&) { fail("chainer: not read yet"); }

}  // namespace plait::io::chainer
